"""A composite that has ended is run again: what failed and what follows from it, or all."""

from __future__ import annotations

import json

import pytest

from queueops.model.contracts import Lease, Outcome
from queueops.redis.broker import get_broker
from tests.composites.pools import Pools
from tests.composites.trees import chain_of, group_of, nodes_of, open_children, plant
from tests.kernel.conftest import MakeDesk
from tests.kernel.desk import NEVER_MS, Desk, end, ids_of


def fail(desk: Desk, lease: Lease) -> None:
    """The attempt fails, and there is to be no other."""
    desk.settle(lease, Outcome.ERROR, b"{}", delay_ms=-1, fingerprint="f1")


def run(desk: Desk) -> list[str]:
    """Run all that is ready; each task's result is its id. The ids in their order."""
    order = []
    while leases := desk.claim(1):
        order.append(leases[0].id)
        desk.settle(leases[0], value=json.dumps(leases[0].id).encode())
    return order


def test_a_chain_goes_on_at_the_task_that_failed_with_the_result_before_it(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b", "z"))
    desk.settle(desk.lease(), value=b"7")
    fail(desk, desk.lease())
    desk.check()
    assert desk.told("retry", "c") == "OK"
    desk.check()
    assert desk.states("c", "a", "b", "z") == ["idle", "succeeded", "pending", "waiting"]
    assert desk.record("c").progress == 1
    lease = desk.lease()
    assert (lease.id, lease.previous) == ("b", b"7")
    desk.settle(lease, value=b"8")
    assert run(desk) == ["z"]
    assert desk.record("c").result == b'"z"'
    assert desk.record("c").progress == 3


def test_a_group_runs_again_only_what_did_not_succeed(desk: Desk) -> None:
    plant(desk, group_of("g", "a", "b", chain_of("c", "x", "y"), of="continue"))
    a, b, x = desk.claim(3)
    desk.settle(a, value=b'"a"')
    fail(desk, b)
    fail(desk, x)
    assert desk.state("g") == "failed"
    desk.told("retry", "g")
    desk.check()
    assert desk.states("g", "a", "b", "c", "x", "y") == ["idle", "succeeded", "pending", "idle", "pending", "waiting"]
    assert run(desk) == ["b", "x", "y"]
    assert desk.record("g").result == b'["a","b","y"]'
    assert desk.record("g").progress == desk.record("g").total == 4


def test_all_of_it_may_be_run_again(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", group_of("g", "x", "y")))
    assert run(desk) == ["a", "x", "y"]
    assert desk.told("retry", "c", value="all") == "OK"
    desk.check()
    assert desk.record("c").progress == 2  # of what is nested the turn comes later
    assert run(desk) == ["a", "x", "y"]
    assert desk.record("c").result == b'["x","y"]'
    assert desk.record("c").progress == 3


def test_one_that_runs_on_while_all_of_it_comes_again_does_not_count_and_comes_again_in_its_turn(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b", "z"))
    desk.settle(desk.lease(), value=b"1")
    b = desk.lease()
    desk.told("cancel", "c")
    desk.told("retry", "c", value="all")
    desk.check()
    assert desk.states("a", "b", "z") == ["pending", "locked", "waiting"]
    assert [task for task, _ in desk.extend(b).cancels] == ["b"]  # its result is of no use
    desk.settle(b, value=b"2")
    desk.check()
    assert desk.states("c", "a", "b", "z") == ["idle", "pending", "waiting", "waiting"]
    assert desk.record("c").progress == 0
    assert run(desk) == ["a", "b", "z"]
    desk.check()
    assert desk.record("b").previous == b'"a"'
    assert desk.record("z").previous == b'"b"'
    assert (desk.record("c").result, desk.record("c").progress) == (b'"z"', 3)


@pytest.mark.parametrize("outcome", [Outcome.SUCCESS, Outcome.CANCEL, Outcome.ERROR])
def test_its_turn_may_come_before_the_run_ends_that_does_not_count(desk: Desk, outcome: Outcome) -> None:
    plant(desk, chain_of("c", "a", "b", "z"))
    desk.settle(desk.lease(), value=b"1")
    b = desk.lease()
    desk.told("cancel", "c")
    desk.told("retry", "c", value="all")
    assert run(desk) == ["a"]
    assert desk.states("c", "a", "b", "z") == ["idle", "succeeded", "locked", "waiting"]
    desk.settle(b, outcome, value=b"{}", delay_ms=-1)
    desk.check()
    assert desk.states("c", "b", "z") == ["idle", "pending", "waiting"]
    assert run(desk) == ["b", "z"]
    assert desk.record("b").previous == b'"a"'
    assert desk.state("c") == "succeeded"


def test_in_a_group_all_of_which_comes_again_the_run_that_goes_on_is_not_the_last(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", group_of("g", "x", "y")))
    desk.settle(desk.lease(), value=b"1")
    x, y = desk.claim(2)
    desk.settle(y, value=b"2")
    desk.told("cancel", "c")
    desk.told("retry", "c", value="all")
    assert run(desk) == ["a", "y"]
    desk.settle(x, value=b'"stale"')
    desk.check()
    assert run(desk) == ["x"]
    assert desk.record("x").previous == b'"a"'
    assert desk.record("c").result == b'["x","y"]'


@pytest.mark.parametrize("whom", ["c", "b"])
def test_what_is_cancelled_then_does_not_come_again(desk: Desk, whom: str) -> None:
    plant(desk, chain_of("c", "a", "b", "z"))
    desk.settle(desk.lease(), value=b"1")
    b = desk.lease()
    desk.told("cancel", "c")
    desk.told("retry", "c", value="all")
    desk.told("cancel", whom)
    desk.settle(b, Outcome.CANCEL, value=b"told to")
    desk.check()
    assert desk.states("b", "z") == ["cancelled", "cancelled"]
    assert desk.state("c") == ("cancelled" if whom == "c" else "failed")
    assert run(desk) == []


def test_retrying_what_has_succeeded_runs_all_of_it_again(desk: Desk) -> None:
    plant(desk, group_of("g", "a", "b"))
    run(desk)
    desk.told("retry", "g")
    assert run(desk) == ["a", "b"]
    assert desk.record("g").result == b'["a","b"]'


@pytest.mark.parametrize("pool", ["default", "north"])
def test_so_does_a_retry_of_a_group_that_succeeded_though_a_part_of_it_failed(namespace: str, pool: str) -> None:
    pools = Pools(get_broker(), "north")
    pools.plant(group_of("g", "a", "b", of="outcomes"), a=pool, b=pool)
    failing = ["b"]

    def end_of(lease: Lease) -> tuple[Outcome, bytes]:
        return (Outcome.ERROR, b"{}") if lease.id in failing else (Outcome.SUCCESS, b"1")

    ran = [pools.drain(end_of)]
    assert pools.state("g") == "succeeded"
    failing.clear()
    pools["default"].told("retry", "g")
    ran.append(pools.drain(end_of))
    assert ran == [["a", "b"], ["a", "b"]]
    outcomes = json.loads(pools["default"].record("g").result)
    assert outcomes == [{"state": "succeeded", "result": 1}] * 2
    pools.check()


def test_a_cancelled_composite_takes_up_again_what_still_runs(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    a = desk.lease()
    desk.told("cancel", "c")
    desk.told("retry", "c")
    desk.check()
    assert desk.states("c", "a", "b") == ["idle", "locked", "waiting"]
    assert desk.extend(a).cancels == []
    desk.settle(a, value=b'"a"')
    assert run(desk) == ["b"]
    assert desk.state("c") == "succeeded"


def test_a_group_whose_results_were_too_large_runs_all_of_it_again(make_desk: MakeDesk) -> None:
    desk = make_desk(payload_limit=500)
    plant(desk, group_of("g", "a", "b"))
    for lease in desk.claim(2):
        desk.settle(lease, value=b'"' + b"x" * 300 + b'"')
    assert desk.state("g") == "failed"
    desk.told("retry", "g")
    assert run(desk) == ["a", "b"]
    assert desk.record("g").result == b'["a","b"]'


@pytest.mark.parametrize("kind", [chain_of, group_of])
def test_a_large_composite_is_taken_up_again_in_parts(desk: Desk, kind) -> None:
    names = [f"x{number}" for number in range(1200)]
    plant(desk, kind("c", *names))
    fail(desk, desk.lease())
    while open_children(desk, "c"):
        desk.tick()
    for lease in desk.claim(1000):
        desk.settle(lease, Outcome.CANCEL, b"")
    desk.told("retry", "c")
    done, leases = list[str](), desk.claim(500)
    while desk.state("c") == "idle":
        done += ids_of(leases)
        leases = desk.exchange(settle=[end(lease, value=b"1") for lease in leases], want=500).leases
        assert leases or desk.tick() or desk.state("c") != "idle"
    assert sorted(done) == sorted(names)
    assert desk.state("c") == "succeeded"


def test_a_retry_that_is_cancelled_half_way_ends(desk: Desk) -> None:
    plant(desk, group_of("c", *[f"x{number}" for number in range(1200)]))
    desk.told("cancel", "c")
    while open_children(desk, "c"):
        desk.tick()
    desk.told("retry", "c")
    desk.told("cancel", "c", value="no")
    while open_children(desk, "c") or desk.claim(1):
        desk.tick()
    desk.check()
    assert desk.state("c") == "cancelled"


def test_other_arguments_are_refused_also_of_one_that_comes_from_the_trash_which_runs_again(desk: Desk) -> None:
    plant(desk, chain_of("c", "a"))
    run(desk)
    assert desk.told("retry", "c", value="[[1],{}]") == "REFUSED"
    assert desk.told("edit", "c", value="[[1],{}]") == "REFUSED"
    desk.told("delete", "c")
    desk.told("restore", "c")
    assert desk.told("retry", "c", value="[[1],{}]") == "REFUSED"
    assert desk.told("retry", "c") == "OK"
    assert run(desk) == ["a"]


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_a_part_is_run_again_by_what_it_is_part_of_and_not_by_itself(desk: Desk, state: str) -> None:
    plant(desk, chain_of("c", "a", "b"))
    if state == "failed":
        fail(desk, desk.lease())
    else:
        desk.told("cancel", "c")
    before = desk.everything()
    (row,) = desk.control("retry", "a")
    assert row.word == "REFUSED"
    been = "been " if state == "cancelled" else ""
    assert (
        row.detail
        == f"it is part of c, which has {been}{state}: retry that, and what did not succeed in it comes again"
    )
    assert desk.everything() == before
    assert desk.told("retry", "c") == "OK"
    assert run(desk) == ["a", "b"]


def test_a_part_that_failed_in_a_group_that_goes_on_waits_for_the_whole_to_be_run_again(desk: Desk) -> None:
    plant(desk, group_of("g", "a", "b", of="continue"))
    fail(desk, desk.lease())
    (row,) = desk.control("retry", "a")
    assert (row.word, row.detail) == (
        "REFUSED",
        "it is part of g, which goes on without it: retry that when it has ended",
    )
    run(desk)
    desk.told("retry", "g")
    assert run(desk) == ["a"]
    assert desk.state("g") == "succeeded"


def test_a_part_whose_parent_is_gone_is_run_by_itself(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    fail(desk, desk.lease())
    desk.told("delete", "c")
    assert desk.told("retry", "a") == "OK"
    assert run(desk) == ["a"]


@pytest.mark.parametrize("policy", ["fail", "continue", "outcomes"])
def test_the_result_of_a_part_that_succeeds_after_the_end_of_its_group_is_there_after_a_retry(
    desk: Desk, policy: str
) -> None:
    plant(desk, group_of("g", "a", "b", of=policy))
    a, b = desk.claim(2)
    desk.told("cancel", "g")
    desk.settle(a, value=b'"late"')
    desk.settle(b, Outcome.CANCEL, b"told to")
    assert desk.states("g", "a", "b") == ["cancelled", "succeeded", "cancelled"]
    desk.told("retry", "g")
    assert run(desk) == ["b"]
    assert b'"late"' in desk.record("g").result
    assert desk.record("g").progress == desk.record("g").total == 2


@pytest.mark.parametrize("by_itself", [True, False])
def test_progress_comes_to_the_total_after_a_retry_whoever_cancelled_the_part(desk: Desk, by_itself: bool) -> None:
    plant(desk, group_of("g", "a", "b", "c", of="continue"))
    desk.settle(desk.lease())
    desk.told("cancel", "b" if by_itself else "g")
    run(desk)
    desk.told("retry", "g")
    run(desk)
    assert desk.record("g").progress == desk.record("g").total == 3


def test_a_chain_that_is_reinstated_goes_on_as_by_a_retry(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    desk.settle(desk.lease())
    desk.told("cancel", "c")
    (row,) = desk.control("reinstate", "b")
    assert (row.word, row.state) == ("REFUSED", "cancelled")
    assert row.detail.startswith("it is part of c")
    assert desk.told("reinstate", "c") == "OK"
    desk.check()
    assert desk.states("c", "a", "b") == ["idle", "succeeded", "pending"]
    assert run(desk) == ["b"]


def test_a_chain_that_was_to_wait_is_not_begun_at_once_by_being_reinstated(desk: Desk) -> None:
    tree = nodes_of(chain_of("c", "a", "b"))
    tree[0].push.delay_ms = NEVER_MS
    desk.broker.plant(tree)
    desk.told("cancel", "c")
    (row,) = desk.control("reinstate", "c")
    assert (row.word, row.state) == ("REFUSED", "cancelled")
    assert "retry it, and it begins now" in row.detail
    desk.check()
    assert desk.told("retry", "c") == "OK"
    assert run(desk) == ["a", "b"]


def test_a_chain_that_was_told_to_run_now_waits_for_its_time_no_more(desk: Desk) -> None:
    tree = nodes_of(chain_of("c", "a", "b"))
    tree[0].push.delay_ms = NEVER_MS
    desk.broker.plant(tree)
    desk.told("run_now", "c")
    desk.told("cancel", "c")
    assert desk.told("reinstate", "c") == "OK"
    assert run(desk) == ["a", "b"]


def test_an_iterator_that_was_cancelled_before_its_time_waits_for_it_again(desk: Desk) -> None:
    desk.push("i", kind="iterator", delay_ms=NEVER_MS)
    desk.told("cancel", "i")
    assert [row.state for row in desk.control("reinstate", "i")] == ["postponed"]
    desk.check()
