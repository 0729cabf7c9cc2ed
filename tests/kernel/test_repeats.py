"""A reply was lost, so the call is made again: the same state, and the answer says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from queueops.model.contracts import Conflict, Outcome, Settlement
from tests.kernel.desk import POOL, Desk, end

LATER_MS = 5_000_000


@pytest.mark.parametrize("outcome", Outcome)
@pytest.mark.parametrize("cancelled", [False, True])
def test_a_settlement_made_twice_is_a_repeat(desk: Desk, outcome: Outcome, cancelled: bool) -> None:
    desk.push("a", retries=2, lane="one")
    desk.broker.lane(POOL, "one", limit=1)
    lease = desk.lease()
    if cancelled:
        desk.told("cancel", "a")
    assert desk.settle(lease, outcome, delay_ms=LATER_MS, fingerprint="f1") == "OK"
    once = desk.everything()
    assert desk.settle(lease, outcome, delay_ms=LATER_MS, fingerprint="f1") == "REPEAT"
    assert desk.everything() == once
    assert desk.counted("stale") == 0


def test_a_settlement_made_twice_in_one_call_counts_once(desk: Desk) -> None:
    desk.push("a", retries=2)
    lease = desk.lease()
    twice = [end(lease, Outcome.ERROR, delay_ms=LATER_MS)] * 2
    assert desk.exchange(settle=twice).settled == ["OK", "REPEAT"]
    assert desk.record("a").attempt == 1


@pytest.mark.parametrize("conflict", [Conflict.NEW, Conflict.REPLACE, Conflict.IGNORE, Conflict.RUN_AFTER])
@pytest.mark.parametrize("delay_ms", [None, LATER_MS])
def test_a_push_made_twice_creates_one_task(desk: Desk, conflict: Conflict, delay_ms: int | None) -> None:
    fields: dict[str, Any] = {"conflict": conflict, "delay_ms": delay_ms, "token": "t1", "tags": ("red",)}
    first = desk.push("a", "b", **fields)
    once = desk.everything()
    again = desk.push("a", "b", **fields)
    assert [answer.word for answer in again] == ["REPEAT", "REPEAT"]
    assert [answer.uid for answer in again] == [answer.uid for answer in first]
    assert desk.everything() == once


VERBS: dict[str, tuple[str, str | int]] = {
    "retry": ("failed", ""),
    "reinstate": ("cancelled", ""),
    "run_now": ("postponed", ""),
    "postpone": ("pending", 9_000_000_000_000),
    "cancel": ("pending", "why"),
    "release": ("locked", ""),
    "edit": ("pending", "[[1],{}]"),
    "priority": ("pending", 10),
    "move": ("pending", "two"),
    "keep": ("failed", 10**9),
    "requeue": ("quarantined", ""),
    "discard": ("quarantined", ""),
    "delete": ("failed", ""),
    "restore": ("deleted", ""),
}


@pytest.mark.parametrize("verb", VERBS)
def test_an_action_made_twice_is_a_repeat(desk: Desk, verb: str) -> None:
    state, value = VERBS[verb]
    bring_to(desk, state)
    assert desk.told(verb, "a", value=value, token="t1") == "OK"
    once = desk.everything()
    assert desk.told(verb, "a", value=value, token="t1") == ("GONE" if verb == "discard" else "REPEAT")
    assert desk.everything() == once


def test_a_cancellation_asked_for_twice_is_a_repeat(desk: Desk) -> None:
    bring_to(desk, "locked")
    assert desk.told("cancel", "a", token="t1") == "OK"
    assert desk.told("cancel", "a", token="t1") == "REPEAT"
    assert desk.client.llen(desk.keys.wake("w1")) == 1


def test_an_id_that_comes_twice_in_one_action_is_acted_on_once(desk: Desk) -> None:
    bring_to(desk, "failed")
    assert [row.word for row in desk.control("retry", "a", "a")] == ["OK", "REPEAT"]
    bring_to(desk, "failed")
    assert [row.word for row in desk.control("delete", "a", "a")] == ["OK", "REPEAT"]


REPEATABLE: dict[str, Callable[[Desk], Any]] = {
    "recover": lambda desk: desk.broker.recover(POOL, "w1", {"a": Settlement("a", 2, Outcome.CRASH, b"killed")}),
    "tick": lambda desk: desk.tick(),
    "lane": lambda desk: desk.broker.lane(POOL, "one", limit=3, weight=2, paused=1),
    "wait": lambda desk: desk.broker.wait(POOL, "a"),
    "beat": lambda desk: desk.broker.beat(POOL, "w1", {"host": "here"}),
    "leave": lambda desk: desk.broker.leave(POOL, "w1"),
}


@pytest.mark.parametrize("call", REPEATABLE)
def test_a_call_made_twice_leaves_the_same_state(desk: Desk, call: str) -> None:
    desk.push("a", "b", "c", lane="one")
    desk.claim(2)
    desk.make_due("b")
    REPEATABLE[call](desk)
    desk.put_off(*[task_id for task_id in "ab" if desk.state(task_id) == "restart"])
    once = {name: value for name, value in desk.everything().items() if "worker" not in name}
    REPEATABLE[call](desk)
    assert {name: value for name, value in desk.everything().items() if "worker" not in name} == once


def test_two_watchdogs_recover_a_lease_once(desk: Desk) -> None:
    desk.push("a", "b")
    desk.claim(2)
    desk.make_due("a", "b")
    first, second = desk.tick(), desk.tick()
    assert (first.get("recovered"), second.get("recovered")) == (2, None)
    assert [desk.record(task_id).crashes for task_id in "ab"] == [1, 1]


def bring_to(desk: Desk, state: str) -> None:
    """Bring the task `a` to a state."""
    desk.push("a", conflict=Conflict.REPLACE, delay_ms=LATER_MS if state == "postponed" else None, tags=("red",))
    if state in ("pending", "postponed"):
        return
    if state == "cancelled":
        desk.told("cancel", "a")
        return
    lease = desk.lease()
    outcomes = {"failed": Outcome.ERROR, "deleted": Outcome.ERROR, "quarantined": Outcome.QUARANTINE}
    if state in outcomes:
        desk.settle(lease, outcomes[state], fingerprint="f1")
    if state == "deleted":
        desk.told("delete", "a")
