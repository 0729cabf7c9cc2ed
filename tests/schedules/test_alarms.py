"""Alarms about schedules that do not fire, although a watchdog lives."""

from __future__ import annotations

import pytest

from queueops import inspect
from queueops.errors import StoreFull
from queueops.errors.schedules import ScheduleNotStored
from queueops.redis.broker import schedules as store
from queueops.watchdog.schedule_firing import ScheduleFiring
from tests.kernel.desk import POOL
from tests.schedules.conftest import Clock
from tests.schedules.test_code import stated


def texts() -> list[str]:
    """Those that the overview shows, and the page of the pool."""
    found = [alarm.text for alarm in inspect.snapshot().alarms if "schedule" in alarm.url_hint]
    pool = inspect.pool(POOL)
    assert pool
    assert set(found) <= {alarm.text for alarm in pool.alarms}
    return found


def test_a_schedule_whose_run_cannot_be_pushed_is_an_alarm_until_it_fires(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StoreFull(reason="OOM command not allowed")

    clock.define()
    clock.came(ago_ms=120_000)
    clock.tick()
    with monkeypatch.context() as patched:
        patched.setattr(type(clock.broker), "fire", full)
        assert clock.fire() == {}
    (text,) = texts()
    assert text.startswith(f"Pool {POOL}: 1 schedule does not fire. s has been due for 2 min. The store may be full")
    clock.fire()
    assert texts() == []


def test_a_schedule_of_the_code_that_cannot_be_stored_is_told_and_the_others_are_stored(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MOST_SCHEDULES", 1)
    firing = ScheduleFiring(clock.broker, lambda: [stated(), stated(id="tests.second")], "shop.settings")
    with pytest.raises(ScheduleNotStored, match=r"tests\.second of the code is not stored.* limit is 1"):
        firing.begin(POOL)
    clock.broker.client.function_flush()
    clock.broker.client.script_flush()  # the store may forget both at any time
    assert [row.id for row in inspect.schedules()] == ["tests.report"]
