"""What is lost of a tree over pools is found out: a part's record, a parent's, or the word of an end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from queueops.model.contracts import Node, Outcome
from tests.composites.pools import Pools
from tests.composites.trees import chain_of, group_of
from tests.kernel.conftest import MakeDesk
from tests.kernel.desk import make
from tests.support.waiting import wait_until


@pytest.fixture
def pools(make_desk: MakeDesk) -> Iterator[Pools]:
    """Two pools beside the default one; all are checked at the end."""
    pools = Pools(make_desk().broker, "north", "south")
    yield pools
    pools.check()


def look(pools: Pools, pool: str, state: str, task_id: str) -> None:
    """The task has been in this state for long, and the watchdog looks at it."""
    desk = pools[pool]
    desk.client.zadd(desk.keys.state(state), {task_id: 1})
    desk.client.hdel(desk.keys.clock, "asked_far")
    desk.tick()
    pools.deliver()


def drop_all(pools: Pools, pool: str) -> None:
    """An operator drops all commands that are due."""
    keys = pools.broker.keys(pool)
    names = [name.decode() for name in pools.broker.client.zrange(keys.commands, 0, -1)]
    assert names
    pools.broker.redeliver(pool, "drop", names)


def test_an_end_that_was_dropped_is_told_again(pools: Pools) -> None:
    pools.plant(chain_of("c", "a", "b"), a="north")
    pools.deliver()
    pools.settle(pools.lease("north"), value=b"7")
    drop_all(pools, "north")
    pools.deliver()
    assert pools.states("c", "b") == ["idle", "waiting"]
    look(pools, "default", "idle", "c")
    assert pools.lease("default").previous == b"7"


@pytest.mark.parametrize("parts", [("a", "b"), ("b", "a")])
def test_a_turn_that_was_dropped_is_told_again(pools: Pools, parts: tuple[str, str]) -> None:
    pools.plant(chain_of("c", *parts, "z"), b="north", z="south")
    if parts[0] == "a":
        pools.settle(pools.lease("default"), value=b"7")
    drop_all(pools, "default")
    look(pools, "default", "idle", "c")
    lease = pools.lease("north")
    assert (lease.id, lease.previous) == ("b", b"7" if parts[0] == "a" else None)
    look(pools, "default", "idle", "c")  # it runs: there is nothing to say
    assert (pools.commands(), pools.states("b", "z")) == (0, ["locked", "waiting"])


def test_each_of_several_whose_turn_was_dropped_is_asked_after(pools: Pools) -> None:
    pools.plant(group_of("g", "a", "b", "d", "e"), a="north", b="north", d="south", e="south")
    drop_all(pools, "default")
    wait_until(lambda: look(pools, "default", "idle", "g") or "waiting" not in pools.states("a", "b", "d", "e"))
    assert sorted(pools.drain()) == ["a", "b", "d", "e"]
    assert pools.state("g") == "succeeded"


def test_a_part_whose_record_is_lost_while_it_runs_fails_its_parent(pools: Pools) -> None:
    pools.plant(group_of("g", "a", "b"), a="north")
    pools.deliver()
    north = pools["north"]
    north.client.hset(north.keys.task("a"), "pu", "0")
    look(pools, "default", "idle", "g")
    for _ in range(20):  # the part that is asked after is drawn by lot
        if pools.state("g") == "idle":
            look(pools, "default", "idle", "g")
    record = pools["default"].record("g")
    assert record is not None
    assert (record.state, record.reason) == ("failed", "its child a#north failed: its record is lost")
    pools["north"].told("cancel", "a")
    pools.deliver()


def test_a_part_that_waits_for_a_parent_that_is_lost_is_cancelled(pools: Pools) -> None:
    pools.plant(chain_of("c", "a", "b"), b="north")
    north, home = pools["north"], pools["default"]
    north.make_due("~planting:b")
    north.tick()
    pools.deliver()
    home.told("cancel", "c")
    drop_all(pools, "default")
    home.told("delete", "c")
    look(pools, "north", "waiting", "b")
    record = north.record("b")
    assert record is not None
    assert (record.state, record.reason) == ("cancelled", "the record of c is lost, which it is part of")


def test_nobody_is_asked_more_than_twice_a_minute(pools: Pools) -> None:
    pools.plant(group_of("g", "a", "b"), a="north", b="north")
    pools.deliver()
    look(pools, "default", "idle", "g")
    sent = pools["default"].counted("cmd|sent")
    for _ in range(5):
        pools["default"].tick()
    assert pools["default"].counted("cmd|sent") == sent


def test_a_template_that_a_worker_expands_may_have_parts_in_other_pools(pools: Pools) -> None:
    pools["default"].push("t", kind="chain", own=(("ex", 1),))
    lease = pools.lease("default")
    nodes = [
        Node(make("t", "report", kind="chain")),
        Node(make("a", pool="north"), 0, 0),
        Node(make("h", "group", kind="group", pool="south", own=(("cc", 2),)), 0, 1),
        Node(make("p", pool="south"), 2, 0),
        Node(make("q", pool="north"), 2, 1),
    ]
    pools.broker.emit(lease, nodes, "tree", b"3")
    pools.settle(lease)
    assert sorted(pools.drain()) == ["a", "p", "q"]
    record = pools["default"].record("t")
    assert record is not None
    assert (record.state, record.progress, record.total) == ("succeeded", 3, 3)


def test_an_iterator_emits_groups_whose_parts_are_in_other_pools(pools: Pools) -> None:
    pools["default"].push("it", kind="iterator", own=(("wi", 1),))
    lease = pools.lease("default")
    nodes = [
        Node(make("it", "group", kind="group")),
        Node(make("g", "group", kind="group", own=(("cc", 2),)), 0, 0),
        Node(make("h", "group", kind="group", pool="north", own=(("cc", 2),)), 0, 1),
        *[Node(make(f"g{i}", pool="south"), 1, i) for i in range(2)],
        *[Node(make(f"h{i}", pool="south"), 2, i) for i in range(2)],
    ]
    pools.broker.emit(lease, nodes, "done", b"")
    pools.settle(lease)
    assert pools.states("g", "h") == ["idle", "waiting"]
    assert sorted(pools.drain()) == ["g0", "g1", "h0", "h1"]
    assert pools.states("it", "g", "h") == ["succeeded"] * 3


def test_an_iterator_hears_of_a_failure_in_another_pool(pools: Pools) -> None:
    pools["default"].push("it", kind="iterator", own=(("wi", 2),))
    lease = pools.lease("default")
    nodes = [Node(make("it", "group", kind="group")), Node(make("a", pool="north"), 0, 0), Node(make("b"), 0, 1)]
    pools.broker.emit(lease, nodes, "done", b"")
    pools.settle(lease)
    pools.deliver()
    pools.settle(pools.lease("north"), Outcome.ERROR, b"{}", delay_ms=-1)
    pools.deliver()
    assert pools.states("it", "b") == ["failed", "cancelled"]
