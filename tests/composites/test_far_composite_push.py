"""A tree over several pools is there as a whole, or nothing of it stays; its parts are kept as long as their parent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from queueops.errors.composites import CompositePushExpired, PartInUse
from queueops.model.contracts import Node
from tests.composites.pools import Pools
from tests.composites.trees import Died, chain_of, die_after, group_of
from tests.kernel.conftest import MakeDesk
from tests.kernel.desk import make

LARGE = [f"x{number}" for number in range(700)]


@pytest.fixture
def pools(make_desk: MakeDesk) -> Iterator[Pools]:
    """Two pools beside the default one; all are checked at the end."""
    pools = Pools(make_desk().broker, "north", "south")
    yield pools
    pools.check()


def large(pools: Pools) -> list[Node]:
    """Seven hundred tasks in the north, below a chain of which some are elsewhere."""
    tree = chain_of("c", "a", group_of("g", *LARGE), group_of("h", "p", chain_of("k", "q", "r")), "z")
    return pools.nodes(tree, g="north", h="south", k="north", r="default", z="south")


def pass_time(pools: Pools) -> None:
    """Whatever the agendas hold is due, and done, and all commands are brought."""
    for desk in pools.desks.values():
        desk.make_due(*(each.decode() for each in desk.client.zrange(desk.keys.agenda, 0, -1)))
        desk.tick()
    pools.deliver()


def left(pools: Pools) -> set[str]:
    """The ids of all tasks in all pools."""
    starts = {f"{desk.keys.prefix}:task:": desk for desk in pools.desks.values()}
    return {
        key.decode().removeprefix(start).partition("#")[0]
        for start, desk in starts.items()
        for key in desk.server.keys(f"{start}*")
    }


@pytest.mark.parametrize("calls", range(1, 7))
def test_of_a_producer_that_died_half_way_nothing_is_left_in_any_pool(
    pools: Pools, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    with monkeypatch.context() as patch:
        die_after(pools.broker, patch, calls)
        with pytest.raises(Died):
            pools.broker.plant(large(pools))
    pools.check()
    assert "c" in left(pools)
    for desk in pools.desks.values():
        assert desk.claim() == []
    for _ in range(30):
        pass_time(pools)
    assert left(pools) == set()
    assert pools.commands() == 0


def test_a_tree_over_pools_that_came_in_parts_runs(pools: Pools) -> None:
    pools.broker.plant(large(pools))
    pools.drain(most=50)
    record = pools["default"].record("c")
    assert record is not None
    assert (record.state, record.progress, record.total) == ("succeeded", 705, 705)


def test_the_same_push_again_changes_nothing(pools: Pools) -> None:
    nodes = large(pools)
    nodes[0].push.token = "t1"
    assert pools.broker.plant(nodes).word == "OK"
    before = [desk.everything() for desk in pools.desks.values()]
    again = large(pools)
    again[0].push.token = "t1"
    assert pools.broker.plant(again).word == "REPEAT"
    assert [desk.everything() for desk in pools.desks.values()] == before


def test_a_part_whose_id_is_in_use_in_another_pool_stops_the_push(pools: Pools) -> None:
    pools["north"].push("q")
    with pytest.raises(PartInUse, match=r"'q'.*pending"):
        pools.broker.plant(large(pools))
    for _ in range(30):
        pools.deliver()
        for desk in pools.desks.values():
            desk.tick()
    assert left(pools) == {"q"}


@pytest.mark.parametrize("step", ["part", "start"])
def test_a_producer_that_was_too_slow_is_told(pools: Pools, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    real = pools.broker._call

    def slow(script: str, *arguments: Any) -> Any:
        if script == "plant" and arguments[3] == step:
            while pools.state("c"):
                pass_time(pools)
        return real(script, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(pools.broker, "_call", slow)
        with pytest.raises(CompositePushExpired):
            pools.broker.plant(large(pools))
    for _ in range(30):
        pass_time(pools)
    assert left(pools) == set()


def test_a_part_that_waits_for_long_asks_once_and_stays(pools: Pools) -> None:
    pools.plant(chain_of("c", "a", "b"), b="north")
    pools["north"].make_due("~planting:b")
    pools["north"].tick()
    assert pools.deliver() == 1
    assert pools["north"].client.zrange(pools["north"].keys.agenda, 0, -1) == []
    assert pools.states("c", "a", "b") == ["idle", "pending", "waiting"]
    assert pools.drain() == ["a", "b"]


def test_parts_in_other_pools_are_kept_as_long_as_their_parent(pools: Pools) -> None:
    nodes = pools.nodes(group_of("g", "a", "b"), a="north", b="south")
    nodes[1].push.keep_ms = 1
    pools.broker.plant(nodes)
    leases = pools.deliver() and [pools.lease("north"), pools.lease("south")]
    pools.settle(leases[0])
    for _ in range(3):
        pools["north"].make_due("a")
        pools["north"].tick()
        pools.deliver()
    assert pools.state("a") == "succeeded"
    pools.settle(leases[1])
    pools.deliver()
    assert pools.state("g") == "succeeded"
    pools["default"].make_due("g")
    pools["default"].tick()
    for _ in range(2):
        for pool, task_id in (("north", "a"), ("south", "b")):
            pools[pool].make_due(task_id)
            pools[pool].tick()
        pools.deliver()
    for pool in ("north", "south"):
        pools[pool].tick()
    assert left(pools) == set()


def test_a_part_in_another_pool_that_has_ended_is_retried_by_what_it_is_part_of(pools: Pools) -> None:
    pools.plant(group_of("g", "a", "b"), a="north")
    pools.deliver()
    pools.settle(pools.lease("north"))
    (row,) = pools["north"].control("retry", "a")
    assert (row.word, row.detail) == ("REFUSED", "it is part of g in the pool default: retry that")


def test_what_a_run_of_an_iterator_left_in_other_pools_goes_with_the_next_run(pools: Pools) -> None:
    broker = pools.broker
    pools["default"].push("it", kind="iterator", own=(("wi", 5),))
    lease = pools.lease("default")
    nodes = [Node(make("it", "group", kind="group")), *[Node(make(name, pool="north"), 0, 0) for name in ("a", "b")]]
    broker.emit(lease, nodes, "next", b"1")
    assert pools.states("a", "b") == ["waiting", "waiting"]
    pools["default"].expire("it")
    again = pools.lease("default")
    broker.emit(again, [nodes[0], Node(make("d", pool="north"), 0, 0)], "done", b"")
    pools.deliver()
    assert pools.states("a", "b", "d") == ["", "", "waiting"]
    pools.settle(again)
    assert pools.drain() == ["d"]
    assert pools.state("it") == "succeeded"
