"""What begins while a worker settles is leased to it in the same call, where nothing else is ready; else it queues."""

from __future__ import annotations

import pytest

from queueops.model.contracts import Lease, Node, Outcome
from tests.composites.trees import chain_of, group_of, plant
from tests.kernel.desk import Desk, end, make
from tests.kernel.picture import server_of


def settled(desk: Desk, *leases: Lease, want: int = 10) -> list[str]:
    """Settle these in one call that asks for more; the ids of what is leased to it."""
    return [lease.id for lease in desk.exchange(settle=[end(lease) for lease in leases], want=want).leases]


def commands_of(desk: Desk, *leases: Lease, want: int = 1) -> dict[str, int]:
    """The commands that the store carries out when these are settled in one call, and how often."""
    server = server_of(desk.broker, desk.keys.seq)
    server.config_resetstat()
    desk.exchange(settle=[end(lease) for lease in leases], want=want, idle=True)
    rows = server.info("commandstats")
    return {name.removeprefix("cmdstat_"): row["calls"] for name, row in rows.items() if "info" not in name}


def test_a_hop_costs_few_commands(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    assert 20 < sum(commands_of(desk, desk.lease()).values()) <= 55  # a new minute expires its counters


def test_nothing_is_seen_of_a_lane_that_it_passes(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    assert settled(desk, desk.lease()) == ["b"]
    assert desk.client.zcard(desk.keys.lane("default")) == 0
    assert desk.states("c", "a", "b") == ["idle", "succeeded", "locked"]
    assert desk.client.zscore(desk.keys.lanes, "default")


def test_who_waited_before_it_comes_before_it(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    lease = desk.lease()
    desk.push("old")
    assert settled(desk, lease, want=1) == ["old"]
    assert desk.state("b") == "pending"


def test_a_paused_lane_keeps_it(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    lease = desk.lease()
    desk.broker.lane("default", "default", paused=1)
    assert settled(desk, lease) == []
    assert desk.state("b") == "pending"


def test_more_than_was_asked_for_waits_for_others(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", group_of("g", "x", "y", "z")))
    assert settled(desk, desk.lease(), want=2) == ["x", "y"]
    assert desk.states("x", "y", "z") == ["locked", "locked", "pending"]


def test_a_worker_that_wants_nothing_gets_nothing(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    assert settled(desk, desk.lease(), want=0) == []
    assert desk.drain() == ["b"]


@pytest.mark.parametrize("failing_first", [True, False])
def test_what_its_group_no_longer_wants_when_the_call_ends_is_not_leased(desk: Desk, failing_first: bool) -> None:
    plant(desk, group_of("g", chain_of("c", "a", "b"), "x"))
    by_id = {lease.id: lease for lease in desk.claim(5)}
    ends = [end(by_id["x"], Outcome.ERROR, delay_ms=-1), end(by_id["a"])]
    reply = desk.exchange(settle=ends if failing_first else ends[::-1], want=5)
    assert reply.leases == []
    assert desk.states("g", "c", "a", "b", "x") == ["failed", "cancelled", "succeeded", "cancelled", "failed"]
    assert desk.drain() == []


def test_it_is_recovered_as_any_when_its_worker_dies(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    settled(desk, desk.lease())
    desk.expire("b")
    assert desk.state("b") in ("restart", "pending")
    desk.make_due("b")
    assert desk.drain() == ["b"]
    assert desk.state("c") == "succeeded"


def test_of_ends_that_come_in_one_call_an_iterator_is_asked_once_what_follows(desk: Desk) -> None:
    desk.broker.push([make("i", kind="iterator", own=(("wi", 12), ("of", "fail")))])
    iterator = desk.lease()
    nodes = [Node(make("i"), -1, 0), *(Node(make(f"t{number}"), 0, number) for number in range(30))]
    desk.broker.emit(iterator, nodes, "done", b"")
    leases = desk.exchange(settle=[end(iterator)], want=12).leases
    assert len(leases) == 12
    assert commands_of(desk, *leases[:10], want=0)["zpopmin"] == 1
    assert desk.states("i", "t0", "t9", "t10", "t12", "t21", "t22") == [
        "idle", "succeeded", "succeeded", "locked", "pending", "pending", "waiting"
    ]  # fmt: skip
    assert desk.record("i").progress == 10
