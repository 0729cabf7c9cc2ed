"""An iterator that is retried asks for its tasks in other pools: what succeeded counts, what is gone stays so."""

from __future__ import annotations

from queueops.model.contracts import Node, Outcome
from queueops.redis.broker import get_broker
from tests.composites.pools import Pools
from tests.composites.trees import chain_of, group_of
from tests.kernel.desk import make


def begun(**own: int) -> Pools:
    """An iterator that has emitted a task into another pool, and waits for it."""
    pools = Pools(get_broker(), "north")
    pools["default"].push("it", kind="iterator", own=(("wi", 2), *own.items()))
    lease = pools.lease("default")
    nodes = [Node(make("it", "group", kind="group")), Node(make("a", pool="north"), 0, 0)]
    pools.broker.emit(lease, nodes, "next", b"1")
    pools.settle(lease)
    pools.deliver()
    end_of_iterate(pools)
    return pools


def end_of_iterate(pools: Pools) -> None:
    """It has nothing more to emit."""
    lease = pools.lease("default")
    pools.broker.emit(lease, (), "done", b"")
    pools.settle(lease)
    pools.deliver()


def test_a_task_that_succeeded_when_its_iterator_was_over_is_there_when_that_is_retried(namespace: str) -> None:
    pools = begun(kt=0)
    lease = pools.lease("north")
    pools["default"].told("cancel", "it")
    pools.settle(lease)
    pools.deliver()
    pools["north"].tick()
    pools["default"].told("retry", "it")
    end_of_iterate(pools)
    assert pools.states("it", "a") == ["succeeded", "succeeded"]
    assert pools["default"].record("it").progress == 1
    pools.check()


def test_so_is_one_that_succeeded_when_its_iterator_was_just_retried(namespace: str) -> None:
    pools = begun(kt=0)
    lease = pools.lease("north")
    pools["default"].told("cancel", "it")
    pools["default"].told("retry", "it")
    pools.settle(lease)
    pools.deliver()
    pools["north"].tick()
    end_of_iterate(pools)
    assert pools.states("it", "a") == ["succeeded", "succeeded"]
    pools.check()


def test_one_that_it_counts_goes_at_once(namespace: str) -> None:
    pools = begun(kt=0)
    pools.settle(pools.lease("north"))
    pools.deliver()
    pools["north"].tick()
    assert pools.states("it", "a") == ["succeeded", ""]
    pools.check()


def test_one_that_was_deleted_stays_failed_and_its_iterator_goes_on(namespace: str) -> None:
    pools = begun()
    pools.settle(pools.lease("north"), Outcome.ERROR, b"{}", delay_ms=-1)
    pools.deliver()
    assert pools.states("it", "a") == ["failed", "failed"]
    pools["north"].told("delete", "a")
    pools["default"].told("retry", "it")
    end_of_iterate(pools)
    record = pools["default"].record("it")
    assert (record.state, record.own["tasks_failed"], record.progress, record.total) == ("succeeded", 1, 1, 1)
    pools.check()


def test_the_late_result_of_a_part_in_another_pool_is_there_when_its_group_is_retried(namespace: str) -> None:
    pools = Pools(get_broker(), "north")
    pools.plant(group_of("g", "a", "b"), a="north")
    pools.deliver()
    far = pools.lease("north")
    pools.settle(pools.lease("default"), Outcome.ERROR, b"{}", delay_ms=-1)
    pools["default"].told("cancel", "g")
    pools.settle(far, value=b"7")
    pools.deliver()
    pools["default"].told("retry", "g")
    pools.deliver()
    pools.settle(pools.lease("default"), value=b"8")
    record = pools["default"].record("g")
    assert (record.state, record.result, record.progress) == ("succeeded", b"[7,8]", 2)
    pools.check()


def test_a_part_in_another_pool_is_kept_while_what_it_is_part_of_lies_in_the_trash(namespace: str) -> None:
    pools = Pools(get_broker(), "north")
    pools.plant(chain_of("c", "a", "b"), a="north")
    pools.deliver()
    pools.settle(pools.lease("north"), value=b"7")
    pools.deliver()
    pools.settle(pools.lease("default"), Outcome.ERROR, b"{}", delay_ms=-1)
    pools["default"].told("delete", "c")
    pools["north"].make_due("a")
    pools["north"].tick()
    pools.deliver()
    pools["north"].tick()
    assert pools.state("a") == "succeeded"
    pools["default"].told("restore", "c")
    pools["default"].told("retry", "c")
    pools.deliver()
    assert pools["default"].drain() == ["b"]
    assert pools.states("c", "a", "b") == ["succeeded"] * 3
    pools.check()
