"""Schedules that stand in the code: written by the watchdog at its start, kept apart from an operator's words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest

from queueops import MapReduce, Schedule, conf, inspect, schedules, task
from queueops.errors import BadOption, BadSchedule
from queueops.schedules.definition import ScheduleDefinition
from queueops.tasks import code_schedules, registry
from queueops.tasks import declared_schedules as declare
from queueops.watchdog import Watchdog
from queueops.watchdog.schedule_firing import ScheduleFiring
from tests.kernel.desk import POOL
from tests.schedules.conftest import FAR, Clock
from tests.schedules.jobs import report

Deploy = Callable[..., None]

INSPECT = import_module("queueops.inspect.schedules")


@pytest.fixture
def deploy(clock: Clock) -> Deploy:
    """A watchdog starts with these schedules in the code, and makes one round."""

    def start(*definitions: ScheduleDefinition, origin: str = "shop.settings") -> None:
        firing = ScheduleFiring(clock.broker, lambda: definitions, origin)
        Watchdog(clock.broker, duties=[firing]).round()

    return start


@pytest.fixture
def forgotten() -> Iterator[None]:
    """Tasks that a test defines are gone at its end."""
    before = dict(registry.handlers())
    yield
    for kind, name in set(registry.handlers()) - set(before):
        registry.unregister(kind, name)


def stated(line: str = FAR, *, id: str = "tests.report", day: str = "x", **values: Any) -> ScheduleDefinition:
    """The schedule of a task as the code says it."""
    schedule = Schedule(line, args=[day], **values)
    return declare.define(report, schedule, id, source="code", origin="shop.settings")


def conditions() -> dict[str, str]:
    """How each schedule is."""
    return {row.id: row.condition for row in inspect.schedules()}


def test_a_start_writes_what_the_code_says(deploy: Deploy) -> None:
    deploy(stated())
    (row,) = inspect.schedules()
    assert (row.id, row.source, row.condition) == ("tests.report", "code", "active")


def test_what_is_unchanged_is_left_alone_so_that_missed_ticks_are_made_up_for(deploy: Deploy, clock: Clock) -> None:
    deploy(stated())
    version = clock.of("tests.report").version
    clock.came("tests.report", ago_ms=3_600_000)
    deploy(stated())
    assert clock.of("tests.report").version == version
    assert len(clock.runs("tests.report")) == 1


def test_other_arguments_keep_the_time_and_another_line_does_not(deploy: Deploy, clock: Clock) -> None:
    deploy(stated())
    later = clock.came("tests.report", ago_ms=-50_000_000)
    deploy(stated(day="y"))
    assert clock.of("tests.report").due_ms == later
    deploy(stated("@every 1h"))
    assert clock.of("tests.report").due_ms != later
    assert len(inspect.schedules()) == 1


def test_what_is_gone_from_the_code_stops_and_comes_back(deploy: Deploy) -> None:
    deploy(stated(), stated(id="other"))
    deploy(stated())
    assert conditions() == {"tests.report": "active", "other": "removed"}
    assert inspect.schedules()[-1].next_ms is None
    deploy(stated(), stated(id="other"))
    assert conditions() == {"tests.report": "active", "other": "active"}


def test_a_pause_survives_deploys(deploy: Deploy) -> None:
    deploy(stated())
    schedules.pause("tests.report")
    for line in (FAR, "@every 1h", FAR):
        deploy(stated(line))
        assert conditions() == {"tests.report": "paused"}
    deploy()
    deploy(stated())
    assert conditions() == {"tests.report": "paused"}


def test_another_project_s_schedules_are_left_alone(deploy: Deploy) -> None:
    deploy(stated())
    deploy(origin="blog.settings")
    assert conditions() == {"tests.report": "active"}


def test_what_a_person_made_is_left_alone(deploy: Deploy, caplog: pytest.LogCaptureFixture) -> None:
    schedules.create(report, Schedule(FAR, args=["mine"]), id="tests.report")
    deploy(stated())
    assert inspect.schedules()[0].source == "api"
    assert "gives way" in caplog.text
    deploy()
    assert conditions() == {"tests.report": "active"}


def test_a_schedule_whose_pool_nobody_has_used_fires(clock: Clock, deploy: Deploy) -> None:
    schedule = Schedule(FAR, args=["x"])
    deploy(declare.define(report.using(pool="quiet"), schedule, "q", source="code", origin="shop.settings"))
    key = clock.broker.keys("quiet").schedules
    clock.client.zadd(key, {"q": clock.now()})
    assert Watchdog(clock.broker).round()["quiet"] == {"fired": 1}


@pytest.mark.usefixtures("forgotten")
def test_the_code_says_it_with_a_line_or_a_schedule() -> None:
    @task(cron="0 3 * * *")
    def plain() -> None: ...

    @task(cron=Schedule("@every 10s", overlap="queue"))
    def often() -> None: ...

    class Sums(MapReduce):
        cron = Schedule("@hourly", args=[3])

        def map(self, count: int) -> range:
            return range(count)

        def process(self, chunk: Any) -> Any:
            return chunk

    class More(Sums):
        """Has no schedule of its own."""

    lines = {one.push.name.rpartition(".")[2]: (one.line, one.push.kind) for one in declare.declared()}
    expected = {"plain": ("0 3 * * *", "task"), "often": ("@every 10s", "task"), "Sums": ("@hourly", "mapreduce")}
    assert lines == lines | expected
    assert "More" not in lines


@pytest.mark.usefixtures("forgotten")
def test_a_line_that_makes_no_sense_is_refused_where_it_stands() -> None:
    with pytest.raises(BadSchedule):
        task(cron="0 0 3 * * * *")(lambda_for_a_test)
    with pytest.raises(BadOption, match="cron"):
        task(cron=10)(lambda_for_a_test)  # type: ignore[call-overload]


@pytest.mark.usefixtures("forgotten")
def test_arguments_that_do_not_fit_are_told_and_hold_nobody_up(caplog: pytest.LogCaptureFixture) -> None:
    @task(name="tests.needs", cron="0 3 * * *")
    def needs(day: str) -> None: ...

    assert "tests.needs" not in {one.id for one in declare.declared()}
    assert "the schedule of the task tests.needs cannot be kept" in caplog.text


def lambda_for_a_test() -> None:
    """Never run."""


def test_a_watchdog_without_the_code_touches_nothing(clock: Clock, deploy: Deploy) -> None:
    deploy(stated())
    Watchdog(clock.broker).round()
    assert conditions() == {"tests.report": "active"}
    assert clock.broker.schedule(POOL, "tests.report") is not None


def notes() -> dict[str, str]:
    """What the code says of each schedule that the store does not know."""
    return {row.id: row.note for row in inspect.schedules()}


def in_the_code(monkeypatch: pytest.MonkeyPatch, *definitions: ScheduleDefinition) -> None:
    """The code of this process declares these, and its settings are those of the shop."""
    code = {definition.id: definition for definition in definitions}
    monkeypatch.setattr(INSPECT, "in_code", lambda: code)
    monkeypatch.setattr(code_schedules.settings, "SETTINGS_MODULE", "shop.settings")


def test_what_the_code_says_and_no_watchdog_has_taken_over_is_told(
    deploy: Deploy, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy(stated())
    in_the_code(monkeypatch, stated())
    assert notes() == {"tests.report": ""}
    in_the_code(monkeypatch, stated("@every 5m", zone="UTC", jitter=2))
    (note,) = notes().values()
    assert note.startswith("The code differs (line @every 5m, ")
    assert note.endswith("jitter 2000). A watchdog stores the change at its next start.")
    in_the_code(monkeypatch, stated(day="y"))
    assert "other options or arguments" in notes()["tests.report"]
    in_the_code(monkeypatch)
    assert notes() == {
        "tests.report": "The code does not declare this schedule any more. It stops at the next start of a watchdog."
    }
    in_the_code(monkeypatch, stated(), stated(id="new"))
    assert inspect.unkept_schedules() == ("new",)
    detail = inspect.schedule("tests.report")
    assert detail is not None
    assert detail.note == ""


def test_the_code_says_nothing_of_the_schedules_of_another_store(
    deploy: Deploy, namespace: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy(stated())
    settings.QUEUEOPS = {**settings.QUEUEOPS, "STORES": {"eu": {"NAMESPACE": namespace}}}  # the same, as if of others
    in_the_code(monkeypatch, stated(id="new"))
    assert "does not declare this schedule" in notes()["tests.report"]
    assert inspect.unkept_schedules() == ("new",)
    with conf.in_store("eu"):
        assert notes() == {"tests.report": ""}
        assert inspect.unkept_schedules() == ()


def test_of_another_project_s_schedules_nothing_is_said(deploy: Deploy, monkeypatch: pytest.MonkeyPatch) -> None:
    deploy(stated("@every 7m"))
    in_the_code(monkeypatch, stated())
    monkeypatch.setattr(code_schedules.settings, "SETTINGS_MODULE", "another.settings")
    assert notes() == {"tests.report": ""}


def test_a_schedule_of_a_task_that_is_not_in_the_code_is_told(deploy: Deploy, monkeypatch: pytest.MonkeyPatch) -> None:
    deploy(stated())
    monkeypatch.setattr(INSPECT, "known_names", lambda: frozenset({"another"}))
    assert notes()["tests.report"].startswith("The code of this console has no task tests.report.")
    monkeypatch.setattr(INSPECT, "known_names", frozenset)
    assert "has no task" not in notes()["tests.report"]  # a console without the project's code knows no task at all


def test_a_schedule_that_is_gone_from_the_code_is_told_once(deploy: Deploy, caplog: pytest.LogCaptureFixture) -> None:
    deploy(stated())
    for _ in range(3):
        deploy()
    assert caplog.text.count("is gone from the code: it stops") == 1
