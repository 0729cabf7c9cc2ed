"""A group: all its tasks side by side; their results in order; three policies for one that fails."""

from __future__ import annotations

import json

import pytest

from queueops.model.contracts import Outcome
from tests.composites.trees import chain_of, group_of, open_children, plant
from tests.kernel.conftest import MakeDesk
from tests.kernel.desk import Desk, end, ids_of

ERROR = b'{"type":"E","message":"no"}'


def fail(desk: Desk, lease, error: bytes = ERROR) -> str:
    """The attempt fails, and there is to be no other."""
    return desk.settle(lease, Outcome.ERROR, error, delay_ms=-1, fingerprint="f1")


def test_the_tasks_of_a_group_are_ready_at_once_and_the_results_are_in_their_order(desk: Desk) -> None:
    plant(desk, group_of("g", "a", "b", "z"))
    leases = desk.claim(5)
    assert ids_of(leases) == ["a", "b", "z"]
    for lease in reversed(leases):
        assert desk.state("g") == "idle"
        desk.settle(lease, value=json.dumps(lease.id).encode())
    assert desk.record("g").result == b'["a","b","z"]'


def test_the_first_failure_ends_a_group_and_cancels_the_others(desk: Desk) -> None:
    plant(desk, group_of("g", "a", "b", chain_of("c", "x", "y")))
    a, b, _x = desk.claim(3)
    fail(desk, a)
    assert desk.states("g", "a", "b", "c", "x", "y") == [
        "failed",
        "failed",
        "locked",
        "cancelled",
        "locked",
        "cancelled",
    ]
    assert open_children(desk, "g") == open_children(desk, "c") == set()
    assert desk.extend(b).cancels == [("b", "g failed: its child a failed")]
    desk.settle(b, value=b"1")
    assert desk.states("g", "b") == ["failed", "succeeded"]


def test_a_group_that_continues_fails_when_all_have_ended(desk: Desk) -> None:
    plant(desk, group_of("g", "a", "b", "z", of="continue"))
    a, b, z = desk.claim(3)
    fail(desk, a)
    fail(desk, b, b"{}")
    assert desk.state("g") == "idle"
    desk.settle(z)
    record = desk.record("g")
    assert (record.state, record.error) == ("failed", ERROR)
    assert record.reason == "2 of its 3 children failed; the first: its child a failed"


def test_of_a_group_that_succeeded_all_is_done_also_what_was_cancelled_on_the_way(desk: Desk) -> None:
    plant(desk, group_of("g", chain_of("c", "a", "b"), "z", of="outcomes"))
    desk.control("cancel", "c")
    assert (desk.record("g").progress, desk.record("g").total) == (0, 3)
    desk.drain()
    assert desk.states("g", "c", "a", "b", "z") == ["succeeded", "cancelled", "cancelled", "cancelled", "succeeded"]
    assert (desk.record("g").progress, desk.record("g").total) == (3, 3)


def test_a_group_of_outcomes_never_fails(desk: Desk) -> None:
    plant(desk, group_of("g", "a", "b", "z", of="outcomes"))
    a, b, z = desk.claim(3)
    fail(desk, b)
    desk.settle(z, Outcome.CANCEL, b"no more")
    desk.settle(a, value=b"[]")
    assert json.loads(desk.record("g").result) == [
        {"state": "succeeded", "result": []},
        {"state": "failed", "error": {"type": "E", "message": "no"}, "reason": ""},
        {"state": "cancelled", "error": None, "reason": "no more"},
    ]


@pytest.mark.parametrize("count", [501, 1700])
def test_a_large_group_is_planted_and_begun_in_parts(desk: Desk, count: int) -> None:
    names = [f"x{number}" for number in range(count)]
    plant(desk, group_of("g", *names))
    done: list[str] = []
    while desk.state("g") == "idle":
        leases = desk.claim(500)
        desk.exchange(settle=[end(lease, value=json.dumps(lease.id).encode()) for lease in leases])
        done += ids_of(leases)
    assert done == names
    assert json.loads(desk.record("g").result) == names


def test_results_over_the_limit_fail_the_group_and_say_so(make_desk: MakeDesk) -> None:
    desk = make_desk(payload_limit=2000)
    plant(desk, group_of("g", "a", "b", "z"))
    for lease in desk.claim(3):
        desk.settle(lease, value=b'"' + b"x" * 800 + b'"')
    record = desk.record("g")
    assert record.state == "failed"
    assert "2410 bytes, the limit is 2000" in record.reason
    assert not desk.client.exists(f"{desk.keys.task('g')}#results")


def test_groups_and_chains_may_be_nested_in_any_mix(desk: Desk) -> None:
    plant(desk, group_of("g", chain_of("c", group_of("h", "a", chain_of("d", "b", "e")), "f"), "i"))
    while desk.state("g") == "idle":
        lease = desk.lease()
        desk.settle(lease, value=json.dumps(lease.id).encode())
        desk.check()
    assert desk.record("g").result == b'["f","i"]'
    assert desk.record("h").result == b'["a","e"]'
    assert desk.record("f").previous == b'["a","e"]'
    assert desk.record("g").progress == desk.record("g").total == 5


def test_a_group_that_continues_is_listed_with_the_error_of_a_worker_that_was_lost(desk: Desk) -> None:
    plant(desk, group_of("g", "a", of="continue"))
    for _ in range(3):
        desk.lease()
        desk.expire("a")
    assert desk.states("g", "a") == ["failed", "failed"]
    assert desk.record("g").fingerprint == desk.record("a").fingerprint != ""
