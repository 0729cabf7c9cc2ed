"""Common path: how many commands the store makes for one plain task, counted by MONITOR."""

from __future__ import annotations

from typing import Any

import pytest

from queueops.model.contracts import Lease
from queueops.redis import wire
from tests.kernel.desk import POOL, Desk, end
from tests.support.monitoring import round_trips

ROUNDS = 3
"""The first push of a name in a minute lists the name. One round of several is without it."""


def handed(desk: Desk, task_id: str, **fields: Any) -> tuple[Lease, list[str]]:
    """Push a task to a worker that waits; its lease, and the commands of the push."""
    desk.client.zadd(desk.keys.idle, {"w1": desk.now() + 1000})
    asked = round_trips(desk, lambda: desk.push(task_id, **fields))
    (token,) = desk.client.lrange(desk.keys.wake("w1"), 0, -1)
    desk.client.delete(desk.keys.wake("w1"))
    lease = wire.read_token(POOL, token)
    assert isinstance(lease, Lease), lease
    assert len(asked.sent) == 1
    return lease, asked.inside


def settled(desk: Desk, lease: Lease, want: int = 4) -> list[str]:
    """The commands of the settlement, by a worker that has nothing else to do."""
    asked = round_trips(desk, lambda: desk.exchange("w1", settle=[end(lease)], idle=True, want=want))
    assert len(asked.sent) == 1
    assert desk.state(lease.id) == "succeeded"
    return asked.inside


@pytest.mark.parametrize(
    ("fields", "weight", "awaited", "most"),
    [
        pytest.param({}, 0, False, (13, 12), id="default lane"),
        pytest.param({"keep_ms": 9000}, 0, False, (13, 12), id="kept for a time of its own"),
        pytest.param({}, 0, True, (13, 13), id="a caller waits"),
        pytest.param({"lane": "mail"}, 0, False, (16, 17), id="named lane"),
        pytest.param({}, 3, False, (14, 14), id="lane with a weight"),
        pytest.param({"lane": "mail"}, 3, False, (17, 19), id="named lane with a weight"),
    ],
)
def test_a_task_that_is_handed_over_and_settled(
    desk: Desk, fields: dict[str, Any], weight: int, awaited: bool, most: tuple[int, int]
) -> None:
    if weight:
        desk.broker.lane(POOL, fields.get("lane", "default"), weight=weight)
    desk.push("warm")  # the library is loaded, and the pool registered
    assert desk.drain() == ["warm"]
    costs = []
    for number in range(ROUNDS):
        lease, pushed = handed(desk, f"a{number}", **fields)
        if awaited:
            assert desk.broker.wait(POOL, lease.id) == "locked"
        costs.append((len(pushed), len(settled(desk, lease))))
    assert min(costs) <= most, costs


def test_a_task_that_is_pushed_into_a_backlog(desk: Desk) -> None:
    desk.push("first", "second")
    costs = [len(round_trips(desk, lambda key=key: desk.push(key)).inside) for key in "abc"]
    assert min(costs) <= 11, costs


@pytest.mark.parametrize(
    ("fields", "most"),
    [
        pytest.param({}, 24, id="default lane"),
        pytest.param({"lane": "mail"}, 28, id="named lane"),
        pytest.param({"keep_ms": 9000}, 24, id="kept for a time of its own"),
    ],
)
def test_a_worker_that_settles_one_and_takes_the_next(desk: Desk, fields: dict[str, Any], most: int) -> None:
    desk.push(*"abcde", **fields)
    lease, costs = desk.lease(), []
    for _ in range(ROUNDS):
        ends = [end(lease)]
        replies: list[Any] = []
        asked = round_trips(desk, lambda ends=ends, replies=replies: replies.append(desk.exchange(settle=ends, want=1)))
        (lease,) = replies[0].leases
        costs.append(len(asked.inside))
    assert min(costs) <= most, costs


@pytest.mark.parametrize("told", ["mail", "other", "#a", ""])
def test_the_settings_of_the_tasks_own_lane_count_whatever_lane_the_worker_tells(desk: Desk, told: str) -> None:
    desk.broker.lane(POOL, "mail", limit=1)
    desk.push("a", "b", lane="mail")
    for task_id in "ab":
        (lease,) = desk.exchange(want=2).leases
        assert lease.id == task_id
        desk.exchange(settle=[end(lease, lane=told)], idle=True)
