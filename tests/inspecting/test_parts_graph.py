"""The graph of a composite: nodes in order, many parts of one name as one node, within a budget of reads."""

from __future__ import annotations

import pytest

from queueops import inspect
from queueops.inspect import GraphNode
from queueops.model.contracts import Outcome
from queueops.redis.broker import get_broker
from tests.composites.trees import Tree, chain_of, group_of, nodes_of, plant
from tests.kernel.desk import Desk


@pytest.fixture
def desk(namespace: str) -> Desk:
    """A broker by hand."""
    return Desk(get_broker())


def plant_named(desk: Desk, tree: Tree) -> None:
    """Push a tree whose tasks are named by the first letter of their ids."""
    nodes = nodes_of(tree)
    for node in nodes:
        if node.push.kind == "task":
            node.push.name = f"shop.{node.push.id[0]}"
    desk.broker.plant(nodes)


def graph(id: str) -> GraphNode:
    found = inspect.parts_graph(id, "default")
    assert found is not None
    return found


def told(node: GraphNode) -> list[object]:
    """Each part: its id or its counts, with its own parts behind it."""
    return [[part.id, *told(part)] if part.parts else part.id or (part.name, dict(part.counts)) for part in node.parts]


def test_many_parts_of_one_name_are_one_node_with_counts_and_others_stand_in_their_order(desk: Desk) -> None:
    resized = (f"r{number}" for number in range(480))
    plant_named(desk, chain_of("c", "a", group_of("g", *resized, "m", of="continue"), chain_of("d", "x", "y")))
    desk.settle(desk.lease())
    for lease in desk.claim(480):
        failed = lease.id in {f"r{number}" for number in range(9)}
        desk.settle(lease, *((Outcome.ERROR, b"{}") if failed else ()), **({"delay_ms": -1} if failed else {}))
    found = graph("c")
    fold = ("shop.r", {"succeeded": 471, "failed": 9})
    assert told(found) == ["a", ["g", fold, "m"], ["d", "x", "y"]]
    assert [(part.state, part.total) for part in found.parts] == [("succeeded", None), ("idle", 481), ("waiting", 2)]
    (resize, mail) = found.parts[1].parts
    assert resize.begun_ms <= resize.ended_ms
    assert (mail.state, mail.begun_ms) == ("pending", None)


def test_a_long_chain_is_folded_by_state_and_many_names_at_the_end(desk: Desk) -> None:
    plant(desk, chain_of("c", *(f"t{number}" for number in range(60))))
    for _ in range(12):
        desk.settle(desk.lease())
    names = ("tests.noop", {"succeeded": 12}), "t12", ("tests.noop", {"waiting": 47})
    assert told(graph("c")) == list(names)
    nodes = nodes_of(group_of("g", *(f"u{number}" for number in range(100))))
    for node in nodes[1:]:
        node.push.name = f"name.{node.push.id}"
    desk.broker.plant(nodes)
    *alone, others = graph("g").parts
    assert [part.id for part in alone] == [f"u{number}" for number in range(24)]
    assert (others.name, others.counts) == ("", (("pending", 76),))


def test_what_is_read_is_bounded_and_the_rest_is_told_by_its_number(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queueops.kinds.composites.inspect.graph.MOST_READ", 100)
    plant(desk, chain_of("c", group_of("g", *(f"t{number}" for number in range(300))), group_of("h", "z")))
    first, second = graph("c").parts
    assert (first.total, first.read, first.parts[0].size) == (300, 98, 98)
    assert (second.total, second.read, second.parts) == (1, 0, ())
    assert inspect.parts_graph("z", "default") is None
    assert inspect.parts_graph("none", "no pool") is None
