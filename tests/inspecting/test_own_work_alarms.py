"""The product's own work that fails is told with its error, until it succeeds."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.management import call_command

from queueops import control, inspect
from queueops.errors.schedules import ScheduleNotStored
from queueops.inspect import Alarm, TaskQuery
from queueops.model.contracts import Lease, Outcome
from queueops.redis.broker import close_brokers
from queueops.watchdog import Watchdog
from tests.inspecting.errors import stored
from tests.kernel.desk import Desk
from tests.operations.playing import claimed, through

ERROR = stored(kind="ResponseError", message="nonexistent global variable 'os'")


def alarms() -> list[Alarm]:
    """Those of a page, and those of the command about one pool."""
    found = [
        alarm for alarm in inspect.snapshot().alarms if "QueueOps" in alarm.text or "watchdog cannot" in alarm.text
    ]
    pool = inspect.pool("default")
    assert pool
    assert set(found) <= set(pool.alarms)
    return found


def refused(*_: object) -> None:
    raise ValueError("no such global variable")


def begin(desk: Desk) -> Lease:
    """A bulk action that a worker has claimed."""
    ((_, id),) = control.begin_operation("cancel", TaskQuery(lane="side"))
    return claimed(desk, id)


def test_an_operation_that_fails_is_an_alarm_with_its_error_until_it_succeeds(desk: Desk) -> None:
    desk.push("a", lane="side")
    lease = begin(desk)
    assert alarms() == []
    desk.settle(lease, Outcome.ERROR, delay_ms=60_000, **ERROR)
    (found,) = alarms()
    assert found.text == (
        f"Pool default: the task bulk_action {lease.id} of QueueOps fails, and is tried again:"
        " ResponseError: nonexistent global variable 'os'"
    )
    assert (found.level, found.command) == ("danger", f"manage.py queue show {lease.id} --pool default")
    operation = inspect.operation(lease.id, "default")
    assert operation
    assert (operation.fails, operation.attempts, operation.error in found.text) == (True, 1, True)
    desk.make_due(lease.id)
    desk.tick()
    again = claimed(desk, lease.id)
    through(again)
    desk.settle(again)
    assert alarms() == []


def test_an_operation_that_has_failed_for_good_is_an_alarm(desk: Desk) -> None:
    desk.push("a", lane="side")
    lease = begin(desk)
    desk.settle(lease, Outcome.ERROR, delay_ms=-1, **ERROR)
    assert "of QueueOps has failed: ResponseError: nonexistent" in alarms()[0].text
    desk.control("delete", lease.id)
    assert alarms() == []


def test_a_long_error_is_told_though_it_is_encrypted(desk: Desk, settings: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"ENCRYPTION": [Fernet.generate_key().decode()]}
    close_brokers()
    desk.push("a", lane="side")
    lease = begin(desk)
    desk.settle(
        lease, Outcome.ERROR, delay_ms=60_000, **stored(kind="ResponseError", message="no such variable " * 100)
    )
    (found,) = alarms()
    assert "ResponseError: no such variable no such" in found.text
    assert len(found.text) < 800
    assert "no such variable no such" in inspect.operation(lease.id, "default").error


def test_an_error_that_cannot_be_read_is_an_alarm_that_says_so(desk: Desk) -> None:
    desk.push("a", lane="side")
    lease = begin(desk)
    desk.settle(lease, Outcome.ERROR, delay_ms=60_000, **ERROR)
    for value in ("{", "5", "[1]", '{"message":"no type"}', "null"):
        desk.client.hset(desk.keys.task(lease.id), "er", value)
        (found,) = alarms()
        assert found.text.endswith("and is tried again: its error cannot be read")


def test_an_alarm_does_not_tell_what_fails_in_tasks_of_the_project(desk: Desk) -> None:
    desk.push("a")
    desk.settle(desk.lease(), Outcome.ERROR, delay_ms=60_000, **ERROR)
    assert alarms() == []


def test_why_advises_no_repetition_of_own_work_that_fails(desk: Desk) -> None:
    desk.push("a", retries=3, lane="side")
    lease = begin(desk)
    desk.settle(lease, Outcome.ERROR, delay_ms=60_000, **ERROR)
    first = next(finding for finding in inspect.why(lease.id) if not finding.ok)
    assert (first.verb, first.is_cause) == (None, True)
    assert first.value == "ResponseError: nonexistent global variable 'os'"
    out = StringIO()
    call_command("queue", "why", lease.id, stdout=out)
    assert "run-now" not in out.getvalue()
    project = desk.lease()
    desk.settle(project, Outcome.ERROR, delay_ms=60_000, **ERROR)
    assert next(finding for finding in inspect.why(project.id) if not finding.ok).verb == "run_now"


def test_what_a_watchdog_cannot_do_is_an_alarm_until_it_can(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    watchdog = Watchdog(desk.broker, period_s=0.0)  # each round draws the figures anew
    watchdog.round()
    with monkeypatch.context() as patched:
        patched.setattr(type(desk.broker), "ripe_schedules", refused)
        watchdog.round()
    (found,) = alarms()
    assert found.text == "The watchdog cannot fire the schedules of pool default: ValueError: no such global variable"
    watchdog.round()
    assert alarms() == []


def test_an_operation_that_fails_is_told_behind_any_number_of_later_ones(desk: Desk) -> None:
    desk.push("a", lane="side")
    lease = begin(desk)
    desk.settle(lease, Outcome.ERROR, delay_ms=60_000, **ERROR)
    desk.push(*(f"later-{number}" for number in range(60)), kind="bulk_action", name="bulk_action")
    (found,) = alarms()
    assert lease.id in found.text


def test_what_a_watchdog_cannot_begin_is_an_alarm_until_it_has_begun(desk: Desk) -> None:
    class Refused:
        """A duty that cannot begin twice."""

        doing, beginning, times = "fire", "store the schedules of the code in", 0

        def begin(self, pool: str) -> None:
            self.times += 1
            if self.times < 3:
                raise ScheduleNotStored(id="nightly", reason="there are too many.")

        def act(self, pool: str) -> dict[str, int]:
            return {}

        def pools(self) -> list[str]:
            return []

    watchdog = Watchdog(desk.broker, period_s=0.0, duties=[Refused()])  # type: ignore[list-item]
    watchdog.round()
    (found,) = alarms()
    assert found.text.startswith("The watchdog cannot store the schedules of the code in pool default: ")
    assert "nightly of the code is not stored, and does not fire as the code says: there are too many." in found.text
    for is_told in (True, False):
        watchdog._begin_at = 0.0
        watchdog.round()
        assert bool(alarms()) is is_told
