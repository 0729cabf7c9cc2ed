"""The watchdog and its schedules: on time, beside another, through a full store, and without holding up anything."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.management import call_command
from redis.cluster import RedisCluster

from queueops import Schedule, inspect, schedules, task
from queueops.checks import check_starts
from queueops.tasks import registry
from queueops.watchdog import Watchdog
from queueops.watchdog.schedule_firing import ScheduleFiring
from tests.schedules.conftest import Clock
from tests.schedules.jobs import report
from tests.support.waiting import wait_until


@contextmanager
def watching(*watchdogs: Watchdog) -> Iterator[None]:
    """These run until the end of the block."""
    threads = [threading.Thread(target=watchdog.run) for watchdog in watchdogs]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for watchdog in watchdogs:
            watchdog.stop()
        for thread in threads:
            thread.join()


def test_a_tick_between_two_rounds_is_not_waited_for(clock: Clock) -> None:
    schedules.create(report, Schedule("@every 1s", args=["x"]), id="s")
    with watching(Watchdog(clock.broker, period_s=3600)):  # the first round sees the schedule, there is no second one
        wait_until(lambda: len(clock.runs()) >= 3, say=clock.runs)


def test_two_watchdogs_fire_every_tick_once(clock: Clock) -> None:
    schedules.create(report, Schedule("@every 1s", args=["x"], catch_up="all"), id="s")
    with watching(Watchdog(clock.broker), Watchdog(clock.broker)):
        wait_until(lambda: len(clock.runs()) >= 3, say=clock.runs)
    runs, state = clock.runs(), clock.of()
    assert state.moment("fc") == len(runs)
    assert state.moment("ms") is None
    shown = inspect.schedule("s")
    assert shown is not None
    ticks = [event.tick_ms for event in reversed(shown.history)]
    assert ticks == [ticks[0] + 1000 * n for n in range(len(ticks))]  # type: ignore[operator]


def test_a_full_store_fires_nothing_and_the_tick_is_made_up_for(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    clock.define(ago_ms=0)
    every = {"target_nodes": RedisCluster.PRIMARIES} if isinstance(clock.client, RedisCluster) else {}
    clock.client.config_set("maxmemory", 1, **every)
    try:
        assert clock.fire() == {}
    finally:
        clock.client.config_set("maxmemory", 0, **every)
    assert "must wait" in caplog.text
    assert clock.runs() == []
    assert clock.fire() == {"fired": 1}


def test_foreign_keys_hold_up_nothing_else(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    clock.client.set(clock.keys.schedules, "?")
    clock.push("a", delay_ms=1)
    clock.make_due("a")
    watchdog = Watchdog(clock.broker, duties=[ScheduleFiring(clock.broker, lambda: [])])
    assert watchdog.round()["default"] == {"promoted": 1, "error": 1}
    assert "could not fire the schedules" in caplog.text
    clock.client.delete(clock.keys.schedules)


def test_the_command_writes_what_the_code_says(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    @task(name="tests.by_command", cron="@daily")
    def by_command() -> None: ...

    try:
        call_command("watchdog", once=True)
    finally:
        registry.unregister("task", "tests.by_command")
    row = next(row for row in inspect.schedules() if row.id == "tests.by_command")
    assert (row.source, row.condition) == ("code", "active")


def test_the_checks_tell_of_arguments_that_are_missing() -> None:
    @task(name="tests.unchecked", cron="@daily")
    def unchecked(day: str) -> None: ...

    try:
        (message,) = check_starts()
    finally:
        registry.unregister("task", "tests.unchecked")
    assert message.id == "queueops.E005"
    assert "tests.unchecked" in message.msg


def test_nothing_was_sent_by_a_watchdog_of_another_pool(clock: Clock) -> None:
    clock.define(ago_ms=0)
    assert Watchdog(clock.broker, pools=["elsewhere"]).round() == {"elsewhere": {}}
    assert clock.runs() == []


def test_workers_leave_schedules_alone(clock: Clock) -> None:
    clock.define(ago_ms=0)
    answer: Any = clock.exchange(want=5, idle=True)
    assert answer.leases == []
    assert answer.sleep_ms > 0
    assert clock.fire() == {"fired": 1}


def test_schedules_without_a_watchdog_are_an_alarm_though_no_task_exists(clock: Clock) -> None:
    assert inspect.status().alarms == ()
    clock.define("a")
    clock.define("b")
    (alarm,) = inspect.status().alarms
    assert alarm.text == "No watchdog has served the pool default yet, so 2 schedules do not fire."
    clock.tick()
    assert inspect.status().alarms == ()
