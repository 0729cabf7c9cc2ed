"""`manage.py queue schedules` and `queue schedule`."""

from __future__ import annotations

import pytest

from queueops.redis.schedule_keys import schedule_key
from tests.inspecting.test_queue_command import failing, queue, queue_json
from tests.kernel.desk import POOL
from tests.schedules.conftest import Clock

pytestmark = pytest.mark.django_db


def test_schedules_are_listed(clock: Clock) -> None:
    assert queue("schedules") == "There is no schedule.\n"
    clock.define("nightly")
    shown = queue("schedules")
    assert "nightly" in shown
    assert "active" in shown
    (row,) = queue_json("schedules")
    assert (row["id"], row["task"], row["condition"]) == ("nightly", "tests.noop", "active")


def test_a_schedule_is_shown_with_its_next_runs_and_its_history(clock: Clock) -> None:
    clock.define(ago_ms=0, jitter_ms=1500)
    clock.fire()
    shown = queue("schedule", "s")
    assert "up to 1.5 s" in shown
    assert f"fired  {clock.runs()[0]}" in shown
    assert len(queue_json("schedule", "s", "show")["runs"]) == 5


def test_a_schedule_is_paused_resumed_and_run(clock: Clock) -> None:
    clock.define()
    assert queue("schedule", "s", "pause") == "The schedule s is paused.\n"
    assert failing("schedule", "s", "pause")[0] == 1
    assert "(command line)" in queue("schedule", "s")
    assert queue_json("schedule", "s", "resume") == {"id": "s", "pool": POOL, "word": "resumed", "task": ""}
    assert queue_json("schedule", "s", "run")["task"] == clock.runs()[0]


def test_a_schedule_is_deleted(clock: Clock) -> None:
    clock.define()
    assert queue("schedule", "s", "delete", "--yes") == "The schedule s is deleted.\n"
    assert failing("schedule", "s") == (1, "There is no schedule 's'.")


def test_garbage_is_shown(clock: Clock) -> None:
    clock.define("s\x1b[31m")
    clock.client.hset(schedule_key(clock.keys, "s\x1b[31m"), "x", "{")
    shown = queue("schedules")
    assert "broken" in shown
    assert "\x1b" not in shown
