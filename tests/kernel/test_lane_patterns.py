"""Lanes whose names fit a pattern of the settings have its limits from their first task on."""

from __future__ import annotations

import time
from typing import Any

import pytest

from queueops import Batch, Chain, Iterator, Schedule, chain, control, schedules
from queueops.conf import LaneSettings, read_settings
from queueops.redis import lane_patterns
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.kernel.desk import Desk
from tests.support import tasks_for_tests as tasks
from tests.support.for_each import for_each

LANES = {
    "tenant-*": {"limit": 2},
    "tenant-big": {"limit": 9},
    "*-slow": {"rate": 0.5, "weight": 3},
    "tenant-*-never": {"limit": 7},
}


@pytest.fixture
def limited(namespace: str, settings: Any) -> Desk:
    settings.QUEUEOPS = settings.QUEUEOPS | {"POOLS": {"default": {"lanes": LANES}, "mail": {}}}
    return Desk(get_broker())


def conf(desk: Desk, lane: str, pool: str = "default") -> dict[str, str]:
    found = desk.client.hgetall(desk.broker.keys(pool).lane_conf(lane))
    return {name.decode(): value.decode() for name, value in found.items() if not name.startswith(b"said:")}


def commands(desk: Desk) -> int:
    return int(desk.client.info("stats")["total_commands_processed"])


def test_a_lane_has_the_limits_of_its_pattern_before_its_first_task_is_claimed(limited: Desk) -> None:
    for number in range(5):
        tasks.add.using(lane="tenant-7").push(number)
        tasks.add.using(lane="tenant-8").push(number)
        tasks.add.push(number)
    assert conf(limited, "tenant-7") == conf(limited, "tenant-8") == {"limit": "2", "weight": "1"}
    assert len(limited.claim(100)) == 2 + 2 + 5


def test_its_own_name_wins_then_the_first_pattern_that_fits(limited: Desk) -> None:
    limited.broker.declare_lanes("default")
    for lane in ("tenant-big", "tenant-x-slow", "is-slow", "tenant-a-never", "tenant", "other"):
        tasks.add.using(lane=lane).push(1)
    assert conf(limited, "tenant-big")["limit"] == "9"
    assert conf(limited, "tenant-x-slow") == {"limit": "2", "weight": "1"}
    assert conf(limited, "is-slow") == {"rate": "0.5", "weight": "3"} | conf(limited, "is-slow")
    assert conf(limited, "tenant-a-never")["limit"] == "2"
    assert conf(limited, "tenant") == conf(limited, "other") == {}


class Emit(Iterator):
    """Emits one task into a lane."""

    def iterate(self, state: Any) -> Batch | None:
        return None if state else Batch(state=1, tasks=[tasks.add.using(lane="tenant-7").s(1)])


class Both(Chain):
    """Two tasks in a lane."""

    def init(self) -> list[Any]:
        return [tasks.add.using(lane="tenant-7").s(1), tasks.add.s(2)]


def scheduled(made: Any, *args: Any) -> None:
    schedules.create(made, Schedule("@every 1h", args=args), id="hourly")
    control.run_schedule("hourly")


def moved() -> None:
    control.move([tasks.add.push(1).id], "tenant-7")


bound = tasks.add.using(lane="tenant-7")
WAYS = {
    "push": lambda: bound.push(1),
    "postpone": lambda: bound.postpone(60, 1),
    "many": lambda: bound.push_many([(1,)] * 3),
    "very many": lambda: bound.push_many([(1,)] * 1_100),
    "chain": lambda: chain(tasks.add.s(1), bound.s(1)).push(),
    "template": lambda: Both.push(),
    "iterator": lambda: (Emit.push(), run_worker()),
    "schedule": lambda: scheduled(bound, 1),
    "scheduled template": lambda: (scheduled(Both), run_worker()),
    "move": moved,
}


@pytest.mark.parametrize("way", WAYS)
def test_whatever_puts_a_task_there_brings_the_limits(limited: Desk, way: str) -> None:
    WAYS[way]()  # type: ignore[no-untyped-call]
    assert conf(limited, "tenant-7") == {"limit": "2", "weight": "1"}


def test_no_call_is_made_for_lanes_without_a_pattern_nor_for_one_that_has_its_limits(limited: Desk) -> None:
    def cost(task: Any, **options: Any) -> int:
        before = commands(limited)
        task.using(**options).push(1)
        return commands(limited) - before

    cost(tasks.add)
    plain = cost(tasks.add, lane="side")
    first = cost(tasks.add, lane="tenant-7")
    second = cost(tasks.add, lane="tenant-7")
    assert first > plain
    assert cost(tasks.add, lane="side") == second
    cost(tasks.add, pool="mail")
    assert cost(tasks.add, pool="mail", lane="tenant-7") == cost(tasks.add, pool="mail", lane="side")
    assert conf(limited, "tenant-7", "mail") == {}


def test_what_an_operator_changed_stays_until_the_settings_say_something_else(limited: Desk, settings: Any) -> None:
    bound.push(1)
    control.set_lane("default", "tenant-7", limit=5)
    get_broker().declare_lanes("default")
    assert conf(limited, "tenant-7")["limit"] == "5"
    settings.QUEUEOPS = settings.QUEUEOPS | {"POOLS": {"default": {"lanes": {"tenant-*": {"limit": 3}}}}}
    bound.push(1)
    assert conf(limited, "tenant-7")["limit"] == "3"


def test_limits_that_the_store_has_lost_come_back(limited: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    bound.push(1)
    limited.client.flushall()
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 61)
    bound.push(1)
    assert conf(limited, "tenant-7")["limit"] == "2"


def test_a_worker_gives_them_to_the_lanes_that_are_there(namespace: str, settings: Any) -> None:
    for lane in ("tenant-1", "tenant-2", "other"):
        tasks.add.using(lane=lane).push_many([(1,)] * 4)
    settings.QUEUEOPS = settings.QUEUEOPS | {"POOLS": {"default": {"lanes": LANES}}}
    desk = Desk(get_broker())
    get_broker().declare_lanes("default")
    assert [conf(desk, lane).get("limit") for lane in ("tenant-1", "tenant-2", "other")] == ["2", "2", None]
    assert len(desk.claim(100)) == 2 + 2 + 4


def test_of_very_many_lanes_no_more_are_remembered_than_may_be(limited: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane_patterns, "MOST", 5)
    for number in range(12):
        tasks.add.using(lane=f"tenant-{number}").push(1)
    assert len(get_broker().lane_patterns._declared) <= 5
    assert all(conf(limited, f"tenant-{number}")["limit"] == "2" for number in range(12))


def test_patterns_are_read_apart_from_names() -> None:
    found, errors = read_settings({"POOLS": {"default": {"lanes": LANES}}})
    assert errors == []
    pool = found.pool("default")
    assert list(pool.lanes) == ["tenant-big"]
    assert pool.pattern_of("tenant-1") == LaneSettings(limit=2)
    assert pool.pattern_of("tenant-big") is None
    assert pool.pattern_of("tenant-") == LaneSettings(limit=2)
    assert pool.pattern_of("a.tenant-1") is None


@for_each("pattern", ["tenant *", "#*", "", "x" * 100 + "*", "a?*"])
def test_a_pattern_has_the_letters_of_a_lane(pattern: str) -> None:
    _, errors = read_settings({"POOLS": {"default": {"lanes": {pattern: {}}}}})
    assert "any of . _ : @ / = + -" in str(errors[0])
