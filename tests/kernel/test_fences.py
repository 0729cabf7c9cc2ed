"""A lease that is no longer the newest writes nothing, and that it tried is counted."""

from __future__ import annotations

import pytest

from queueops.errors import StaleLease
from queueops.model.contracts import Lease, Node, Outcome
from tests.kernel.desk import POOL, Desk, make

LATER_MS = 5_000_000


@pytest.fixture
def stale(desk: Desk) -> Lease:
    """Worker w1 had the task, lost it by the end of its lease, and w2 has it now."""
    desk.push("a", retries=5)
    old = desk.lease("w1")
    desk.expire("a")
    new = desk.lease("w2")
    assert new.fence > old.fence
    return old


@pytest.mark.parametrize("outcome", Outcome)
def test_a_frozen_worker_cannot_settle_after_its_lease_was_taken(desk: Desk, stale: Lease, outcome: Outcome) -> None:
    before = desk.everything()
    assert desk.settle(stale, outcome, fingerprint="f1") == "STALE"
    assert desk.everything() == before
    assert desk.counted("stale") == 1


@pytest.mark.parametrize("outcome", Outcome)
def test_a_lease_that_was_recovered_is_stale_before_anybody_claims_it_anew(desk: Desk, outcome: Outcome) -> None:
    desk.push("a", retries=5)
    old = desk.lease("w1")
    desk.make_due("a")
    assert desk.tick()["recovered"] == 1
    before = desk.everything()
    assert desk.settle(old, outcome, fingerprint="f1") == "STALE"
    assert desk.everything() == before
    assert desk.counted("stale") == 1
    assert desk.client.hget(desk.keys.task("a"), "f") != str(old.fence).encode()


def test_a_frozen_worker_cannot_extend_what_it_lost(desk: Desk, stale: Lease) -> None:
    before = desk.everything()
    assert desk.extend(stale).lost == ["a"]
    assert desk.everything() == before
    assert desk.counted("stale") == 1


def test_a_frozen_worker_cannot_note_progress(desk: Desk, stale: Lease) -> None:
    before = desk.everything()
    assert desk.broker.note(POOL, "a", stale.fence, done=1, total=2, line=b"half") == "STALE"
    assert desk.everything() == before
    assert desk.counted("stale") == 1


def test_a_task_that_has_ended_notes_no_more_progress(desk: Desk) -> None:
    desk.push("a")
    lease = desk.lease()
    assert desk.settle(lease) == "OK"
    before = desk.everything()
    assert desk.broker.note(POOL, "a", lease.fence, done=1, total=2, line=b"half") == "STALE"
    assert desk.everything() == before


BATCH = [Node(make("it", "group", kind="group")), Node(make("child"), 0, 0)]


@pytest.fixture
def iterator(desk: Desk) -> Lease:
    """The first lease of an iterator, which is current."""
    desk.push("it", kind="iterator", own=(("wi", 2),), retries=5)
    return desk.lease("w1")


@pytest.mark.parametrize("answer", ["next", "idle", "done", "tree"])
def test_a_frozen_worker_cannot_write_what_its_iterator_emits(desk: Desk, iterator: Lease, answer: str) -> None:
    desk.expire("it")
    current = desk.lease("w2")
    assert current.fence > iterator.fence
    before = desk.everything()
    with pytest.raises(StaleLease):
        desk.broker.emit(iterator, BATCH, answer, b"1")
    assert desk.everything() == before
    desk.broker.emit(current, BATCH, "next", b"1")
    assert desk.state("child") == "waiting"


def test_an_iterator_that_has_ended_its_run_emits_no_more(desk: Desk, iterator: Lease) -> None:
    desk.broker.emit(iterator, BATCH, "next", b"1")
    assert desk.settle(iterator) == "OK"
    before = desk.everything()
    with pytest.raises(StaleLease):
        desk.broker.emit(iterator, [BATCH[0], Node(make("late"), 0, 0)], "next", b"2")
    assert desk.everything() == before


def test_the_death_of_a_worker_does_not_judge_what_another_one_runs(desk: Desk, stale: Lease) -> None:
    before = desk.everything()
    assert desk.broker.recover(POOL, "w1", {}) == 0
    assert desk.everything() == before


def test_a_task_that_is_gone_is_gone_for_its_worker(desk: Desk) -> None:
    lease = Lease(id="nobody", fence=1)
    before = desk.everything()
    assert desk.settle(lease) == "GONE"
    assert desk.extend(lease).lost == ["nobody"]
    assert desk.broker.note(POOL, "nobody", 1, done=1) == "GONE"
    assert desk.everything() == before


@pytest.mark.parametrize("fence", [0, 9, 10, 99, 100])
def test_fences_are_compared_whole(desk: Desk, fence: int) -> None:
    desk.client.set(desk.keys.seq, 8)
    desk.push("a")
    lease = desk.lease()
    assert lease.fence == 10
    assert desk.settle(Lease(id="a", fence=fence)) == ("OK" if fence == 10 else "STALE")


def test_a_fence_grows_over_generations_releases_and_replacements(desk: Desk) -> None:
    fences = []
    for outcome in (Outcome.RELEASE, Outcome.CRASH, Outcome.ERROR, Outcome.SUCCESS):
        desk.push("a", retries=1)
        lease = desk.lease()
        fences.append(lease.fence)
        desk.settle(lease, outcome, delay_ms=LATER_MS)
        desk.make_due("a") if desk.state("a") == "restart" else None
    assert fences == sorted(set(fences))


@pytest.mark.parametrize("cancelled", [False, True])
def test_an_operators_release_takes_the_lease_away(desk: Desk, cancelled: bool) -> None:
    desk.push("a")
    lease = desk.lease()
    if cancelled:
        desk.told("cancel", "a")
    assert desk.told("release", "a") == "OK"
    assert desk.extend(lease).lost == ["a"]
    assert desk.settle(lease) == "STALE"
    assert desk.state("a") == ("cancelled" if cancelled else "pending")


def test_progress_and_log_lines_of_the_newest_lease_are_kept(desk: Desk) -> None:
    desk.push("a")
    lease = desk.lease()
    assert desk.broker.note(POOL, "a", lease.fence, done=3, total=7.5, line=b"half") == "OK"
    record = desk.record("a")
    assert (record.progress, record.total) == (3, 7.5)
    assert desk.client.llen(desk.keys.log("a")) == 1


def test_a_log_line_whose_reply_was_lost_is_written_once(desk: Desk) -> None:
    desk.push("a")
    lease = desk.lease()
    for number in (1, 1, 2, 2, 2):
        assert desk.broker.note(POOL, "a", lease.fence, line=b"half", number=number) == "OK"
    assert desk.client.llen(desk.keys.log("a")) == 2


def test_a_log_is_capped(desk: Desk) -> None:
    desk.push("a")
    lease = desk.lease()
    for number in range(120):
        desk.broker.note(POOL, "a", lease.fence, line=f"line {number}".encode())
    lines = desk.client.lrange(desk.keys.log("a"), 0, -1)
    assert len(lines) == 100
    assert b"line 119" in lines[-1]


def test_a_lease_is_kept_no_longer_than_the_task_may_run(desk: Desk) -> None:
    desk.push("a")
    lease = desk.lease()
    desk.extend(lease, left_ms=7000)
    left = desk.client.zscore(desk.keys.agenda, "a") - desk.now()
    assert 0 < left <= 7000


def test_a_wish_to_cancel_comes_with_the_next_extension(desk: Desk) -> None:
    desk.push("a")
    lease = desk.lease()
    desk.told("cancel", "a", value="enough")
    assert desk.extend(lease).cancels == [("a", "enough")]
    assert desk.client.lrange(desk.keys.wake("w1"), 0, -1) == [b"cancel a"]
