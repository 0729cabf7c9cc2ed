"""Composites whose parts are in several pools: the same as in one, whatever becomes of the commands between them."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from queueops.model.contracts import Lease, Outcome
from tests.composites.pools import Pools
from tests.composites.trees import Tree, chain_of, group_of
from tests.kernel.conftest import MakeDesk

SEEDS = range(30)


@pytest.fixture
def pools(make_desk: MakeDesk) -> Iterator[Pools]:
    """Two pools beside the default one; all are checked at the end."""
    pools = Pools(make_desk().broker, "north", "south")
    yield pools
    pools.check()


def test_a_chain_goes_through_pools_with_its_results(pools: Pools) -> None:
    given = {}

    def run(lease: Lease) -> tuple[Outcome, bytes]:
        given[lease.id] = lease.previous
        return Outcome.SUCCESS, f'"{lease.id}"'.encode()

    pools.plant(chain_of("c", "a", "b", "d", "e"), b="north", d="south")
    pools.check()
    assert pools.states("c", "a", "b", "d", "e") == ["idle", "pending", "waiting", "waiting", "waiting"]
    assert pools.drain(run) == ["a", "b", "d", "e"]
    assert given == {"a": None, "b": b'"a"', "d": b'"b"', "e": b'"d"'}
    record = pools["default"].record("c")
    assert record is not None
    assert (record.state, record.result, record.progress, record.total) == ("succeeded", b'"e"', 4, 4)
    assert pools.commands() == 0


def test_a_group_gathers_the_results_of_pools_in_order(pools: Pools) -> None:
    pools.plant(group_of("g", "a", group_of("h", "b", "d"), "e"), h="north", d="south", e="north")
    pools.drain(lambda lease: (Outcome.SUCCESS, f'"{lease.id}"'.encode()))
    record = pools["default"].record("g")
    assert record is not None
    assert (record.result, record.progress, record.total) == (b'["a",["b","d"],"e"]', 4, 4)


def of_any_shape(chance: random.Random, number: int = 0, depth: int = 0) -> Tree:
    """A tree of chains and groups."""
    kind = chance.choice([chain_of, group_of])
    parts: list[Tree | str] = []
    for part in range(chance.randint(1, 3)):
        name = f"{number}.{part}" if depth else str(part)
        parts.append(
            of_any_shape(chance, part, depth + 1)
            if depth < 2 and chance.random() < 0.5
            else f"t{name}-{chance.random()}"
        )
    own = {"of": chance.choice(["continue", "outcomes"])} if kind is group_of and chance.random() < 0.5 else {}
    return kind(f"n{depth}.{chance.random()}", *parts, **own)


def anywhere(pools: Pools, tree: Tree, chance: random.Random) -> dict[str, str]:
    return {node.push.id: chance.choice(list(pools.desks)) for node in pools.nodes(tree)}


@pytest.mark.parametrize("seed", SEEDS)
def test_any_tree_ends_whatever_the_order_of_its_commands_and_however_often_they_come(pools: Pools, seed: int) -> None:
    chance = random.Random(seed)
    tree = of_any_shape(chance)
    where = anywhere(pools, tree, chance)
    root = pools[where[tree.id]]
    leaves = [node.push.id for node in pools.nodes(tree) if node.push.kind == "task"]
    failing = set(chance.sample(leaves, chance.randint(0, min(2, len(leaves)))))

    def run(lease: Lease) -> tuple[Outcome, bytes]:
        return (Outcome.ERROR, b"{}") if lease.id in failing else (Outcome.SUCCESS, b"1")

    pools.plant(tree, **where)
    pools.drain(run, chance)
    pools.check()
    assert root.state(tree.id) in ("succeeded", "failed")
    assert all(pools.state(node.push.id) in ("succeeded", "failed", "cancelled") for node in pools.nodes(tree))
    for attempt in ("", "all"):
        failing.clear()
        assert root.told("retry", tree.id, value=attempt) == "OK"
        pools.drain(run, chance)
        pools.check()
        record = root.record(tree.id)
        assert record is not None
        assert record.state == "succeeded"
        assert record.progress == record.total == len(leaves)
    assert pools.commands() == 0


def test_all_of_a_chain_over_pools_comes_again_though_one_of_it_runs_on(pools: Pools) -> None:
    pools.plant(chain_of("c", "a", "b", "z"), b="north", z="south")
    pools.settle(pools.lease("default"), value=b"1")
    pools.deliver()
    b = pools.lease("north")
    pools["default"].told("cancel", "c")
    pools.deliver()
    pools["default"].told("retry", "c", value="all")
    pools.deliver()
    assert pools.states("c", "a", "b", "z") == ["idle", "pending", "locked", "waiting"]
    pools.settle(b, value=b"2")
    given = {}

    def run(lease: Lease) -> tuple[Outcome, bytes]:
        given[lease.id] = lease.previous
        return Outcome.SUCCESS, f'"{lease.id}"'.encode()

    assert pools.drain(run) == ["a", "b", "z"]
    assert given == {"a": None, "b": b'"a"', "z": b'"b"'}
    record = pools["default"].record("c")
    assert record is not None
    assert (record.state, record.result, record.progress) == ("succeeded", b'"z"', 3)
