"""A chain: one task after the other, each with the result of the one before; one that fails ends it."""

from __future__ import annotations

import pytest

from queueops.model.contracts import Outcome
from tests.composites.trees import chain_of, group_of, open_children, plant
from tests.kernel.desk import Desk, ids_of


def test_the_tasks_of_a_chain_come_one_after_the_other(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b", "z"))
    assert desk.states("c", "a", "b", "z") == ["idle", "pending", "waiting", "waiting"]
    desk.check()
    assert desk.drain() == ["a", "b", "z"]
    assert desk.states("c", "a", "b", "z") == ["succeeded"] * 4
    assert open_children(desk, "c") == set()


@pytest.mark.parametrize("result", [b"0", b"", b"false", b'""', b"[]", b"{}", b"1234567890123456789012"])
def test_a_result_is_passed_on_whatever_its_value(desk: Desk, result: bytes) -> None:
    plant(desk, chain_of("c", "a", "b"))
    desk.settle(desk.lease(), value=result)
    lease = desk.lease()
    assert lease.previous == result
    assert lease.args == b"[[" + (result or b"null") + b"],{}]"
    desk.settle(lease, value=b"[1]")
    assert desk.record("c").result == b"[1]"


def test_the_next_task_is_leased_in_the_round_trip_that_settles_the_one_before(desk: Desk) -> None:
    from tests.kernel.desk import end

    plant(desk, chain_of("c", "a", "b"))
    reply = desk.exchange(settle=[end(desk.lease())], want=1)
    assert ids_of(reply.leases) == ["b"]


def test_a_task_that_fails_for_good_ends_its_chain_and_the_rest_is_cancelled(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", group_of("g", "x", "y"), "z"))
    desk.settle(desk.lease(), Outcome.ERROR, b'{"type":"E","message":"no"}', delay_ms=-1, fingerprint="f1")
    assert desk.states("c", "a", "g", "x", "y", "z") == ["failed", "failed", *["cancelled"] * 4]
    record = desk.record("c")
    assert record.error == b'{"type":"E","message":"no"}'
    assert record.reason == "its child a failed"
    assert desk.record("z").reason.startswith("c failed")
    assert desk.claim() == []


def test_a_task_that_is_tried_again_keeps_its_chain_waiting(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    desk.client.hset(desk.keys.task("a"), "r", 1)
    desk.settle(desk.lease(), Outcome.ERROR, b"{}", delay_ms=1000)
    assert desk.states("c", "a", "b") == ["idle", "restart", "waiting"]
    desk.make_due("a")
    desk.tick()
    assert desk.drain() == ["a", "b"]
    assert desk.state("c") == "succeeded"


def test_a_task_that_loses_its_worker_too_often_ends_its_chain(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    for _ in range(3):
        desk.lease()
        desk.expire("a")
    assert desk.states("c", "a", "b") == ["failed", "failed", "cancelled"]
    assert "lost its worker 3 times" in desk.record("c").reason
    assert desk.record("c").fingerprint == desk.record("a").fingerprint != ""


def test_a_late_settlement_moves_nothing(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    late = desk.lease("A")
    desk.expire("a")
    assert desk.settle(late, worker="A") == "STALE"
    assert desk.state("b") == "waiting"
    again = desk.lease("B")
    assert desk.settle(again, worker="B") == "OK"
    assert desk.settle(again, worker="B") == "REPEAT"
    assert desk.states("c", "a", "b") == ["idle", "succeeded", "pending"]
    assert desk.record("c").progress == 1


def test_a_result_of_a_group_and_of_a_chain_within_is_passed_on(desk: Desk) -> None:
    plant(desk, chain_of("c", group_of("g", "x", "y"), chain_of("d", "a", "b"), "z"))
    for lease, value in zip(desk.claim(2), (b"1", b""), strict=True):
        desk.settle(lease, value=value)
    a = desk.lease()
    assert (a.id, a.previous) == ("a", b"[1,null]")
    desk.settle(a, value=b"2")
    b = desk.lease()
    desk.settle(b, value=b"3")
    z = desk.lease()
    assert (b.previous, z.previous) == (b"2", b"3")


def test_all_tasks_of_a_group_in_a_chain_get_the_result_before_it(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", group_of("g", "x", chain_of("d", "y", "z"))))
    desk.settle(desk.lease(), value=b"7")
    assert {lease.id: lease.previous for lease in desk.claim(5)} == {"x": b"7", "y": b"7"}


def test_a_task_may_ignore_the_result_before_it(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", group_of("g", "x", si=1)))
    desk.settle(desk.lease(), value=b"7")
    assert desk.lease().previous is None


def test_a_chain_nested_a_thousand_deep_ends(desk: Desk) -> None:
    tree = chain_of("c999", "leaf")
    for depth in range(998, -1, -1):
        tree = chain_of(f"c{depth}", tree)
    plant(desk, tree)
    while desk.state("leaf") == "waiting":
        desk.tick()
    desk.settle(desk.lease(), value=b"5")
    assert desk.record("c0").result == b"5"


def test_progress_of_the_root_counts_leaves(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", group_of("g", "x", "y"), "z"))
    seen = []
    for _ in range(4):
        desk.settle(desk.lease())
        seen.append((desk.record("c").progress, desk.record("c").total))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
