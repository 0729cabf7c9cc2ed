"""Expiry: a task that has not begun by its moment ends as cancelled, wherever it waits, and only then."""

from __future__ import annotations

import pytest

from queueops.model.contracts import Conflict, Outcome
from tests.kernel.desk import NEVER_MS, Desk, ids_of
from tests.support.for_each import for_each

PAST = (("xe", 1),)
LATER = (("xe", f"+{NEVER_MS}"),)


def _has_expired(desk: Desk, task_id: str) -> None:
    desk.check()
    record = desk.record(task_id)
    assert record is not None
    assert (record.state, record.reason) == ("cancelled", "expired: it had not begun in time")


def _come_to_an_end(desk: Desk, *ids: str) -> None:
    """The moment of these tasks has come."""
    for task_id in ids:
        desk.client.hset(desk.keys.task(task_id), "xe", 1)
        assert desk.client.zadd(desk.keys.agenda, {f"~expiry:{task_id}": 1}, xx=True, ch=True)


@pytest.mark.parametrize("delay_ms", [None, NEVER_MS])
def test_a_task_that_waits_ends_at_its_moment_without_a_worker(desk: Desk, delay_ms: int | None) -> None:
    desk.push("a", own=LATER, delay_ms=delay_ms)
    desk.push("b", "c", own=LATER, delay_ms=delay_ms)
    desk.check()
    created = int(desk.client.zscore(desk.keys.state("postponed" if delay_ms else "pending"), "a"))
    assert desk.client.zscore(desk.keys.agenda, "~expiry:a") == created + NEVER_MS
    assert desk.tick() == {}
    _come_to_an_end(desk, "a", "c")
    assert desk.tick() == {"expiry": 2}
    _has_expired(desk, "a")
    _has_expired(desk, "c")
    assert desk.states("b") == ["postponed" if delay_ms else "pending"]
    assert desk.counted("ex|tests.noop") == 2


def test_a_claim_leaves_out_what_has_expired_since_the_last_tick(desk: Desk) -> None:
    desk.push(*(f"t{number}" for number in range(300)), own=PAST)
    desk.push("z")
    assert ids_of(desk.claim(1)) == ["z"]
    while desk.tick():
        pass
    _has_expired(desk, "t299")


def test_a_task_that_has_begun_does_not_expire(desk: Desk) -> None:
    desk.push("a", own=LATER, retries=1)
    lease = desk.lease()
    _come_to_an_end(desk, "a")
    desk.tick()
    assert desk.settle(lease, Outcome.ERROR, b"{}", delay_ms=0) == "OK"
    desk.make_due("a")
    desk.tick()
    assert desk.settle(desk.lease()) == "OK"
    desk.check()


RELEASED, UNSTARTED, UNKNOWN = (Outcome.RELEASE, 0), (Outcome.RELEASE, -1), (Outcome.UNKNOWN, 0)


@for_each(
    ("task_id", "ends", "expires"),
    [
        ("a", [UNSTARTED], True),
        ("b", [UNSTARTED, UNSTARTED], True),
        ("c", [RELEASED], False),
        ("d", [RELEASED, UNSTARTED], False),
        ("e", [(Outcome.ERROR, 0), UNSTARTED], False),
        ("f", [(Outcome.CRASH, 0), UNSTARTED], False),
        ("g", [(Outcome.RESTART, 0), UNSTARTED], False),  # as a step of an iterator, or of a run of a workflow
        ("h", [UNKNOWN], True),
        ("i", [(Outcome.ERROR, 0), UNKNOWN], False),
    ],
)
def test_a_task_that_was_only_claimed_and_given_back_can_still_expire(
    desk: Desk, task_id: str, ends: list[tuple[Outcome, int]], expires: bool
) -> None:
    moment = f"~expiry:{task_id}"
    desk.push(task_id, own=LATER, retries=3)
    at = desk.client.zscore(desk.keys.agenda, moment)
    for outcome, delay_ms in ends:
        desk.client.zrem(desk.keys.agenda, moment)  # its moment comes while a worker has it
        assert desk.settle(desk.lease(), outcome, b"{}", delay_ms=delay_ms) == "OK"
        if desk.state(task_id) != "pending":
            desk.make_due(task_id)
            desk.tick()
    assert desk.client.zscore(desk.keys.agenda, moment) == (at if expires else None)
    desk.client.zadd(desk.keys.agenda, {moment: 1})
    if expires:
        desk.client.hset(desk.keys.task(task_id), "xe", 1)
    desk.tick()
    assert desk.state(task_id) == ("cancelled" if expires else "pending")
    desk.check()
    desk.told("cancel", task_id)


def test_its_moment_comes_once_for_each_generation_of_an_id(desk: Desk) -> None:
    desk.push("a", own=LATER)
    assert desk.word("a", Conflict.REPLACE) == "REPLACED"
    desk.client.zadd(desk.keys.agenda, {"~expiry:a": 1})
    desk.tick()
    assert desk.settle(desk.lease()) == "OK"
    desk.check()


def test_a_push_for_after_the_end_of_another_counts_from_the_push(desk: Desk) -> None:
    desk.push("a")
    lease = desk.lease()
    assert desk.word("a", Conflict.RUN_AFTER, own=LATER) == "AFTER"
    until = int(desk.client.hget(f"{desk.keys.task('a')}#next", "xe"))
    assert desk.now() < until <= desk.now() + NEVER_MS
    desk.settle(lease)
    assert desk.client.zscore(desk.keys.agenda, "~expiry:a") == until
    _come_to_an_end(desk, "a")
    desk.tick()
    _has_expired(desk, "a")


@pytest.mark.parametrize("verb", ["retry", "reinstate"])
def test_an_operator_who_brings_it_back_lets_it_run(desk: Desk, verb: str) -> None:
    desk.push("a", own=PAST)
    desk.tick()
    _has_expired(desk, "a")
    assert desk.told(verb, "a") == "OK"
    desk.tick()
    assert desk.settle(desk.lease()) == "OK"
    desk.check()


def test_a_field_that_is_not_readable_is_no_moment(desk: Desk) -> None:
    desk.push("a", own=(("xe", "tomorrow"),))
    assert desk.settle(desk.lease()) == "OK"
    desk.check()
