"""`queueops.schedules`: made, changed, paused, run and deleted by a program."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from queueops import Schedule, get, schedules
from queueops.errors import (
    BadArguments,
    BadId,
    BadOption,
    BadSchedule,
    PayloadTooLarge,
    ScheduleChanged,
    ScheduleFromCode,
    ScheduleInUse,
    TooMany,
    UnknownOption,
    UnknownSchedule,
    UnknownTask,
)
from queueops.redis.broker import schedules as schedule_store
from queueops.testing import run_worker
from tests.kernel.desk import POOL
from tests.schedules.conftest import FAR, Clock
from tests.schedules.jobs import Counting, report
from tests.support.for_each import for_each

NIGHTLY = Schedule("0 3 * * *", zone="Europe/Berlin", jitter=30, catch_up="skip", overlap="skip", args=["today"])


def found(id: str) -> schedules.ScheduleDetail:
    """A schedule, which must be there."""
    detail = schedules.get(id)
    assert detail is not None
    return detail


def test_a_schedule_is_created_listed_and_shown(clock: Clock) -> None:
    assert schedules.create(report, NIGHTLY, id="nightly") == "nightly"
    (row,) = schedules.list()
    assert (row.id, row.task, row.line, row.zone) == ("nightly", "tests.report", "0 3 * * *", "Europe/Berlin")
    assert (row.condition, row.source, row.jitter_ms, row.catch_up) == ("active", "api", 30_000, "skip")
    detail = found("nightly")
    assert len(detail.runs) == 5
    assert detail.runs[0] == detail.next_ms
    assert schedules.get("weekly") is None


def test_a_zone_is_its_name_or_a_zoneinfo(clock: Clock) -> None:
    schedules.create(report, Schedule("0 3 * * *", zone=ZoneInfo("Asia/Tokyo"), args=["x"]), id="s")
    assert found("s").zone == "Asia/Tokyo"


@pytest.mark.parametrize("options", [{"id": "mine"}, {"delay": 5}, {"delay": datetime(2027, 1, 1, tzinfo=UTC)}])
def test_an_id_or_a_delay_which_no_run_could_have_is_refused(clock: Clock, options: Any) -> None:
    (name,) = options
    with pytest.raises(UnknownOption) as raised:
        schedules.create(report.using(**options), NIGHTLY, id="s")
    assert str(raised.value) == f"The task of a schedule has no option {name!r}; each run has its own"
    assert schedules.get("s") is None


def test_the_task_of_a_run_has_the_options_of_its_author(clock: Clock) -> None:
    schedules.create(report, Schedule(FAR, args=["x"]), id="s")
    clock.came()
    clock.fire()
    record = clock.record(clock.runs()[0])
    assert record is not None
    assert (record.name, record.retries, record.tags) == ("tests.report", 5, ("reports",))


def test_a_map_reduce_runs_by_itself(clock: Clock) -> None:
    schedules.create(Counting, Schedule(FAR, args=[4]), id="count")
    clock.came("count")
    clock.fire()
    (run,) = clock.runs("count")
    run_worker(until_idle=True)
    handle = get(run)
    assert handle is not None
    assert handle.result(timeout=60) == 6
    assert found("count").last_state == "succeeded"


def test_a_name_will_do(clock: Clock) -> None:
    id = schedules.create("tests.report", Schedule(FAR, args=["x"]))
    assert id.startswith("tests.report.")
    assert found(id).task == "tests.report"


@for_each(
    ("task", "schedule", "id", "error"),
    [
        ("tests.repport", Schedule(FAR, args=["x"]), "", UnknownTask),
        (42, FAR, "", BadOption),
        (report, FAR, "", BadArguments),
        (report, Schedule(FAR, args=["x"]), "a b", BadId),
        (report, Schedule(FAR, args=["x"]), "x" * 166, BadOption),
        (report, Schedule(FAR, args=["x" * 20_000]), "", PayloadTooLarge),
    ],
)
def test_what_makes_no_sense_is_refused(
    task: Any, schedule: Any, id: str, error: type[Exception], clock: Clock
) -> None:
    with pytest.raises(error):
        schedules.create(task, schedule, id=id)
    with pytest.raises(BadSchedule):
        schedules.create(report, "now and then")
    assert schedules.list() == []


def test_an_id_is_given_once_in_all_pools(clock: Clock) -> None:
    schedules.create(report, NIGHTLY, id="s")
    with pytest.raises(ScheduleInUse, match="A schedule 's' already exists in the pool default"):
        schedules.create(report.using(pool="other"), NIGHTLY, id="s")


def test_a_pool_has_so_many_schedules_at_most(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_store, "MOST_SCHEDULES", 1)
    schedules.create(report, NIGHTLY, id="a")
    with pytest.raises(TooMany):
        schedules.create(report, NIGHTLY, id="b")


def test_an_update_replaces_what_is_said(clock: Clock) -> None:
    schedules.create(report, NIGHTLY, id="s")
    assert schedules.update("s", Schedule("@every 10m", zone="UTC", args=["then"]))
    detail = found("s")
    assert (detail.line, detail.overlap, detail.source) == ("@every 10m", "allow", "api")
    assert '"then"' in detail.args_json


def test_an_update_of_what_somebody_else_has_changed_is_refused(clock: Clock) -> None:
    schedules.create(report, NIGHTLY, id="s")
    seen = found("s").version
    schedules.pause("s")
    with pytest.raises(ScheduleChanged):
        schedules.update("s", NIGHTLY.__class__("@hourly", args=["x"]), seen=seen)


def test_a_pause_outlives_an_update(clock: Clock) -> None:
    schedules.create(report, NIGHTLY, id="s", paused=True)
    schedules.update("s", Schedule(FAR, args=["x"]))
    assert (found("s").condition, found("s").next_ms) == ("paused", None)
    assert schedules.resume("s", who="ada")
    assert not schedules.resume("s")
    assert found("s").condition == "active"


def test_a_run_by_hand_is_one_more(clock: Clock) -> None:
    schedules.create(report, Schedule(FAR, args=["x"], overlap="skip"), id="s")
    first, second = schedules.run_now("s", who="ada"), schedules.run_now("s")
    assert sorted([first, second]) == clock.runs()
    history = found("s").history
    assert [(event.word, event.task, event.state, event.who) for event in history] == [
        ("FIRED", second, "pending", ""),
        ("FIRED", first, "pending", "ada"),
    ]
    assert found("s").next_ms is not None


def test_a_schedule_is_forgotten_and_its_tasks_stay(clock: Clock) -> None:
    schedules.create(report, Schedule(FAR, args=["x"]), id="s")
    run = schedules.run_now("s")
    assert schedules.delete("s")
    assert schedules.list() == []
    assert clock.state(run) == "pending"
    for call in (schedules.delete, schedules.pause, schedules.resume, schedules.run_now):
        with pytest.raises(UnknownSchedule):
            call("s")


def test_what_stands_in_the_code_is_changed_there(clock: Clock) -> None:
    clock.define(source="code")
    for call in (lambda: schedules.delete("s"), lambda: schedules.update("s", FAR, task=report)):
        with pytest.raises(ScheduleFromCode):
            call()
    assert schedules.pause("s")
    assert schedules.resume("s")
    clock.broker.change_schedule(POOL, "s", "orphan")
    assert found("s").condition == "removed"
    assert schedules.delete("s")


def test_arguments_that_must_not_be_seen_are_hidden(clock: Clock) -> None:
    schedules.create(report, Schedule(FAR, args=["x"], kwargs={"password": "hunter2"}), id="s")
    assert "hunter2" not in str(schedules.list()) + str(found("s"))


def test_a_tick_that_nobody_sees_is_told(clock: Clock) -> None:
    clock.define(ago_ms=20_000)
    assert found("s").condition == "late"


def test_a_preview_needs_no_schedule(clock: Clock) -> None:
    moments = schedules.preview("0 3 * * *", "Europe/Berlin", 3)
    assert [moment.hour for moment in moments] == [3, 3, 3]
    assert moments[0].tzinfo is not None
    assert moments[0].astimezone(UTC) < moments[1].astimezone(UTC)
