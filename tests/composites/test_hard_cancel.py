"""Cancelling hard: what runs anywhere below is to be interrupted, and ends as cancelled whatever it says."""

from __future__ import annotations

import pytest

from queueops.model.contracts import Lease, Outcome
from queueops.redis.broker import get_broker
from tests.composites.pools import Pools
from tests.composites.trees import chain_of, group_of, plant
from tests.kernel.desk import Desk


def planted(desk: Desk) -> tuple[Lease, Lease]:
    plant(desk, group_of("g", "a", chain_of("c", "x", "y")))
    a, x = desk.claim(2)
    return a, x


@pytest.mark.parametrize("hard", [True, False])
def test_what_runs_below_is_told_whether_it_is_to_be_interrupted(desk: Desk, hard: bool) -> None:
    a, x = planted(desk)
    desk.control("cancel", "g", value="enough", hard=hard)
    for lease in (a, x):
        reply = desk.extend(lease)
        assert [task_id for task_id, _ in reply.cancels] == [lease.id]
        assert reply.hard == ([lease.id] if hard else [])


def test_one_that_was_asked_to_stop_can_be_interrupted_later_and_a_retry_forgets_that(desk: Desk) -> None:
    a, _ = planted(desk)
    desk.told("cancel", "a")
    assert desk.extend(a).hard == []
    desk.control("cancel", "a", hard=True)
    assert desk.extend(a).hard == ["a"]
    desk.settle(a, Outcome.CANCEL)
    assert desk.states("g", "a", "c") == ["failed", "cancelled", "cancelled"]
    desk.told("retry", "g")
    (a,) = desk.claim(1)
    desk.told("cancel", "g")
    assert (desk.extend(a).cancels != [], desk.extend(a).hard) == (True, [])


@pytest.mark.parametrize("again", ["a", "g"])
def test_one_that_is_to_be_interrupted_is_so_though_it_is_asked_to_stop_before_its_worker_hears(
    desk: Desk, again: str
) -> None:
    a, _ = planted(desk)
    desk.control("cancel", "a", hard=True)
    desk.told("cancel", again)
    assert desk.extend(a).hard == ["a"]
    desk.settle(a, Outcome.TIMEOUT, b"{}", delay_ms=-1)
    assert desk.states("a") == ["cancelled"]


@pytest.mark.parametrize("outcome", [Outcome.TIMEOUT, Outcome.ERROR])
def test_one_that_had_to_be_killed_or_says_anything_is_cancelled_though_it_was_its_last_attempt(
    desk: Desk, outcome: Outcome
) -> None:
    a, x = planted(desk)
    desk.control("cancel", "g", value="enough", hard=True)
    desk.settle(a, outcome, b"{}", delay_ms=-1)
    desk.settle(x, Outcome.CANCEL, b"")
    assert set(desk.states("g", "a", "c", "x", "y")) == {"cancelled"}
    assert desk.record("a").reason == "g was cancelled: enough"


def test_parts_in_other_pools_hear_of_it_too(namespace: str) -> None:
    pools = Pools(get_broker(), "north")
    pools.plant(group_of("g", "a", chain_of("c", "x", "y")), c="north")
    pools.deliver()
    x = pools.lease("north")
    pools["default"].control("cancel", "g", hard=True)
    pools.deliver()
    assert pools["north"].extend(x).hard == ["x"]
    pools.settle(x, Outcome.CANCEL, b"")
    pools.drain()
    assert set(pools.states("g", "a", "c", "x", "y")) == {"cancelled"}
    pools.check()
