"""What a push does when its id is in use."""

from __future__ import annotations

import pytest

from queueops.model.contracts import Conflict, Outcome, Pushed
from tests.kernel.desk import Desk, make

LATER_MS = 5_000_000
POLICIES = [conflict for conflict in Conflict if conflict is not Conflict.NEW]


@pytest.mark.parametrize("conflict", Conflict)
def test_a_free_id_is_taken_whatever_the_policy(desk: Desk, conflict: Conflict) -> None:
    assert desk.word("a", conflict) == "OK"
    assert desk.state("a") == "pending"


@pytest.mark.parametrize("conflict", POLICIES)
@pytest.mark.parametrize("outcome", [Outcome.SUCCESS, Outcome.ERROR, Outcome.CANCEL])
def test_an_ended_task_is_run_again_whatever_the_policy(desk: Desk, conflict: Conflict, outcome: Outcome) -> None:
    first = desk.push("a", name="tests.first", tags=("old",))[0]
    desk.settle(desk.lease(), outcome, fingerprint="f1")
    second = desk.push("a", name="tests.second", tags=("new",), conflict=conflict)[0]
    assert (second.word, desk.state("a")) == ("OK", "pending")
    assert second.uid > first.uid
    assert desk.client.zscore(desk.keys.names, "tests.second")
    desk.check()


WORDS = {
    Conflict.IGNORE: ("EXISTS", "EXISTS", "EXISTS", "EXISTS"),
    Conflict.SKIP: ("EXISTS", "EXISTS", "EXISTS", "EXISTS"),
    Conflict.REJECT: ("REJECTED", "REJECTED", "REJECTED", "REJECTED"),
    Conflict.REPLACE: ("REPLACED", "REPLACED", "REPLACED", "REPLACED"),
    Conflict.REPLACE_POSTPONED: ("EXISTS", "REPLACED", "EXISTS", "EXISTS"),
    Conflict.RUN_AFTER: ("AFTER", "AFTER", "AFTER", "AFTER"),
    Conflict.DEBOUNCE: ("REPLACED", "REPLACED", "AFTER", "AFTER"),
}


@pytest.mark.parametrize("conflict", POLICIES)
@pytest.mark.parametrize("delay_ms", [None, LATER_MS])
@pytest.mark.parametrize("state", ["pending", "postponed", "locked", "restart"])
def test_the_policy_decides_about_a_task_that_has_not_ended(
    desk: Desk, conflict: Conflict, delay_ms: int | None, state: str
) -> None:
    bring_to(desk, "a", state)
    before = desk.record("a")
    word = desk.word("a", conflict, name="tests.second", tags=("new",), delay_ms=delay_ms)
    assert word == WORDS[conflict][("pending", "postponed", "locked", "restart").index(state)]
    after = desk.record("a")
    if word == "REPLACED":
        assert after.name == "tests.second"
        assert after.state == ("postponed" if delay_ms else "pending")
        assert after.uid > before.uid
    else:
        assert (after.name, after.state, after.uid) == ("tests.first", state, before.uid)


def test_the_worker_of_a_replaced_task_cannot_settle_its_successor(desk: Desk) -> None:
    desk.push("a")
    old = desk.lease()
    desk.push("a", conflict=Conflict.REPLACE)
    assert desk.settle(old) == "STALE"
    new = desk.lease("w2")
    assert desk.settle(old) == "STALE"
    assert desk.settle(new) == "OK"


@pytest.mark.parametrize("outcome", [Outcome.SUCCESS, Outcome.ERROR, Outcome.CANCEL])
@pytest.mark.parametrize("delay_ms", [None, LATER_MS])
def test_run_after_starts_the_next_generation_when_this_one_ends(
    desk: Desk, outcome: Outcome, delay_ms: int | None
) -> None:
    desk.push("a", tags=("old",), lane="one")
    desk.broker.lane("default", "one", limit=1)
    lease = desk.lease()
    assert desk.word("a", Conflict.RUN_AFTER, name="tests.next", tags=("new",), delay_ms=delay_ms) == "AFTER"
    assert desk.settle(lease, outcome, fingerprint="f1") == "OK"
    after = desk.record("a")
    assert (after.name, after.state) == ("tests.next", "postponed" if delay_ms else "pending")
    assert after.tags == ("new",)
    assert after.next is False
    desk.check()
    assert desk.settle(lease, outcome) == "STALE"


def test_run_after_a_cancelled_task_that_waits(desk: Desk) -> None:
    desk.push("a")
    desk.word("a", Conflict.RUN_AFTER, name="tests.next")
    assert desk.told("cancel", "a") == "OK"
    assert desk.record("a").name == "tests.next"


def test_run_after_waits_for_the_last_attempt(desk: Desk) -> None:
    desk.push("a", retries=1)
    lease = desk.lease()
    desk.word("a", Conflict.RUN_AFTER, name="tests.next")
    desk.settle(lease, Outcome.ERROR, delay_ms=LATER_MS)
    assert (desk.record("a").name, desk.state("a")) == ("tests.noop", "restart")
    desk.make_due("a")
    desk.settle(desk.lease(), Outcome.ERROR)
    assert (desk.record("a").name, desk.state("a")) == ("tests.next", "pending")


def test_the_last_one_to_push_with_run_after_gets_the_turn(desk: Desk) -> None:
    desk.push("a")
    lease = desk.lease()
    desk.word("a", Conflict.RUN_AFTER, name="tests.second", delay_ms=LATER_MS)
    desk.word("a", Conflict.RUN_AFTER, name="tests.third")
    desk.settle(lease)
    assert (desk.record("a").name, desk.state("a")) == ("tests.third", "pending")


@pytest.mark.parametrize("delay_ms", [None, LATER_MS])
def test_ids_that_come_twice_in_one_batch_are_judged_in_order(desk: Desk, delay_ms: int | None) -> None:
    other = None if delay_ms else LATER_MS
    batch = [make("a", delay_ms=delay_ms), make("a", name="tests.second", delay_ms=other, conflict=Conflict.REPLACE)]
    assert [answer.word for answer in desk.broker.push(batch)] == ["OK", "REPLACED"]
    desk.check()
    batch = [push for push in batch for _ in range(2)]
    for push in batch:
        push.conflict = Conflict.REPLACE
    assert [answer.word for answer in desk.broker.push(batch)] == ["REPLACED"] * 4
    assert desk.record("a").name == "tests.second"
    desk.check()
    desk.settle(desk.lease()) if delay_ms else desk.told("cancel", "a")
    assert [answer.word for answer in desk.broker.push(batch)] == ["OK", "REPLACED", "REPLACED", "REPLACED"]


def test_a_push_whose_reply_was_lost_is_known_by_its_token(desk: Desk) -> None:
    pushed = desk.push("a", token="t1")[0]
    again = desk.push("a", token="t1", conflict=Conflict.REPLACE)[0]
    assert (again.word, again.uid) == ("REPEAT", pushed.uid)
    desk.settle(desk.lease())
    assert desk.word("a", Conflict.REPLACE, token="t1") == "REPEAT"
    assert desk.state("a") == "succeeded"
    assert desk.word("a", Conflict.IGNORE, token="t2") == "OK"


def test_a_fresh_id_that_is_found_in_use_is_a_repeat_whatever_became_of_it(desk: Desk) -> None:
    pushed = desk.push("a", conflict=Conflict.NEW)[0]
    for _ in range(2):
        assert desk.push("a", conflict=Conflict.NEW)[0] == Pushed("a", pushed.uid, "REPEAT")
        desk.drain()
    assert desk.state("a") == "succeeded"


def test_the_next_generation_keeps_the_token_of_its_push(desk: Desk) -> None:
    desk.push("a", token="t1")
    assert desk.word("a", Conflict.RUN_AFTER, token="t2") == "AFTER"
    desk.drain(limit=1)
    assert desk.word("a", Conflict.RUN_AFTER, token="t2") == "REPEAT"


def test_a_record_of_garbage_takes_no_push(desk: Desk) -> None:
    desk.broken.add("a")
    desk.client.set(desk.keys.task("a"), b"\xff\x00garbage")
    assert desk.word("a", Conflict.REPLACE) == "REJECTED"


def bring_to(desk: Desk, task_id: str, state: str) -> None:
    """Push a task and bring it to a state."""
    desk.push(
        task_id, name="tests.first", tags=("old",), retries=3, delay_ms=LATER_MS if state == "postponed" else None
    )
    if state in ("locked", "restart"):
        lease = desk.lease()
        if state == "restart":
            desk.settle(lease, Outcome.ERROR, delay_ms=LATER_MS, fingerprint="f1")
    assert desk.state(task_id) == state
