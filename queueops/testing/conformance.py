"""Conformance: tests of the promises of `queueops.model.ports`, for a store of one's own. They need pytest.

`EncoderConformance` and `ExecutorConformance` are the same for an encoder and for an executor.

    from queueops.testing.conformance import StoreConformance

    class TestMyStore(StoreConformance):
        def make_store(self, settings, directory):
            return MyStore(replace(settings, url=f"{directory}/tasks"))

Each test gets a new store, which must be empty. It pushes, claims and settles as producers and workers do. What a
store offers beside plain tasks is not tested here.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from queueops.errors.kinds import NotOffered
from queueops.errors.leases import LeaseLost
from queueops.model.capabilities import Capability
from queueops.model.contracts import Conflict, Extend, Lease, LeaseRef, Outcome, Push, RoundTrip, Settlement
from queueops.model.states import State
from queueops.testing.encoder_conformance import EncoderConformance as EncoderConformance
from queueops.testing.executor_conformance import ApartExecutorConformance as ApartExecutorConformance
from queueops.testing.executor_conformance import ExecutorConformance as ExecutorConformance
from queueops.testing.store_steps import OTHER, POOL, WORKER, StoreSteps

SHORT_S = 0.1
DAY_MS = 86_400_000


class StoreConformance(StoreSteps):
    """The tests. A subclass, whose name begins with Test, gives the store."""

    # Ordered

    def test_tasks_are_claimed_by_priority_and_then_in_the_order_of_their_pushes(self) -> None:
        """Also if they come in several pushes, and are claimed in several round trips."""
        self.push("a", "b", priority=0)
        self.push("urgent", priority=5)
        self.push("late", priority=-5)
        self.push("c")
        found = [lease.id for want in (2, 1, 9) for lease in self.claim(want)]
        assert found == ["urgent", "a", "b", "c", "late"]

    def test_a_worker_claims_from_the_lanes_and_of_the_kinds_that_it_serves(self) -> None:
        """Patterns name lanes; one after a ^ names lanes that are left alone."""
        self.push("a", lane="mail-1")
        self.push("b", lane="mail-2")
        self.push("c", lane="other")
        assert self.ids(lanes=("mail-*", "^mail-2")) == ["a"]
        assert self.ids(kinds=("!task",)) == []
        assert self.ids(kinds=("task",), lanes=("other",)) == ["c"]
        assert self.ids() == ["b"]

    def test_a_pool_gives_its_own_tasks_alone(self) -> None:
        """The same id in two pools is two tasks."""
        self.push("a")
        self.push("a", pool="second")
        assert self.store.exchange("second", WORKER, RoundTrip(want=9)).leases[0].pool == "second"
        assert self.state("a") == State.PENDING
        assert set(self.store.pools()) >= {POOL, "second"}
        assert self.store.find("a") is not None
        assert self.store.find("none") is None
        assert self.store.record(POOL, "none") is None

    def test_stores_of_two_namespaces_share_nothing(self, tmp_path: Path) -> None:
        """The same id in the same pool is another task."""
        self.push("a")
        first = self.store
        self.open(tmp_path)
        try:
            assert self.store.record(POOL, "a") is None
            assert self.ids() == []
            self.push("a", name="other")
        finally:
            self.store.close()
            self.store = first
        assert self.record("a").name == "t"
        assert self.ids() == ["a"]

    # What is stored

    def test_a_lease_brings_what_was_pushed(self) -> None:
        """Arguments, limits and tags arrive unchanged, with the first attempt."""
        given = {"args": b'[[1,"\xc3\xa4"],{}]', "retries": 3, "retry": "", "timeout_ms": 5000, "tags": ("x", "y")}
        self.push("a", name="shop.mail", priority=7, lane="fast", root="r", meta=b'{"k":1}', **given)
        (lease,) = self.claim()
        assert (lease.name, lease.kind, lease.pool, lease.lane) == ("shop.mail", "task", POOL, "fast")
        assert {name: getattr(lease, name) for name in given} == given
        assert (lease.priority, lease.root, lease.meta, lease.attempt, lease.crashes) == (7, "r", b'{"k":1}', 1, 0)
        record = self.record("a")
        assert (record.state, record.worker, record.fence, record.args) == ("locked", WORKER, lease.fence, lease.args)
        assert record.created
        assert record.begun

    # Atomic

    def test_concurrent_workers_claim_each_task_once(self) -> None:
        """Four threads claim 100 tasks of four concurrent pushes."""
        batches = [[f"{batch}-{number}" for number in range(25)] for batch in range(4)]
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda ids: self.push(*ids), batches))

            def claim_all(worker: str) -> list[str]:
                found: list[str] = []
                while leases := self.store.exchange(POOL, worker, RoundTrip(want=3)).leases:
                    found += [lease.id for lease in leases]
                    settled = [Settlement(lease.id, lease.fence, Outcome.SUCCESS, b"1") for lease in leases]
                    self.store.exchange(POOL, worker, RoundTrip(settle=settled))
                return found

            found = [id for ids in threads.map(claim_all, "wxyz") for id in ids]
        assert sorted(found) == sorted(id for ids in batches for id in ids)

    def test_a_repeated_push_creates_nothing(self) -> None:
        """The reply was lost, so the producer sends the same push again: by its new id, or by its token."""
        new = Push(id="a", name="t", conflict=Conflict.NEW)
        kept = Push(id="b", name="t", conflict=Conflict.REJECT, token="t1")
        first = self.store.push([new, kept])
        self.end(self.claim()[0])
        again = self.store.push([new, kept])
        assert [pushed.word for pushed in first] == ["OK", "OK"]
        assert [pushed.word for pushed in again] == ["REPEAT", "REPEAT"]
        assert [pushed.uid for pushed in again] == [pushed.uid for pushed in first]
        assert self.state("a") == State.SUCCEEDED

    def test_a_push_of_an_id_in_use_follows_its_policy(self) -> None:
        """An ended task is always replaced by a new generation."""
        (first,) = self.push("a", args=b"[[1],{}]")
        assert self.push("a", conflict=Conflict.IGNORE)[0].word == "EXISTS"
        assert self.push("a", conflict=Conflict.IGNORE)[0].uid == first.uid
        assert self.push("a", conflict=Conflict.REJECT)[0].word == "REJECTED"
        assert self.push("a", conflict=Conflict.REPLACE_POSTPONED)[0].word == "EXISTS"
        assert self.record("a").args == b"[[1],{}]"
        (lease,) = self.claim()
        (second,) = self.push("a", conflict=Conflict.REPLACE, args=b"[[2],{}]")
        assert (second.word, second.uid > first.uid) == ("REPLACED", True)
        assert self.end(lease) != "OK"
        (lease,) = self.claim()
        assert lease.args == b"[[2],{}]"
        assert self.end(lease) == "OK"
        (third,) = self.push("a")
        assert (third.word, third.uid > second.uid) == ("OK", True)
        assert (self.state("a"), self.record("a").result) == ("pending", b"")
        assert self.store.wait(POOL, "a", first.uid) == "superseded"
        assert self.store.wait(POOL, "a", third.uid) == "pending"
        assert self.store.wait(POOL, "none") == ""

    # Fenced

    def test_an_outcome_is_stored_once_and_by_the_current_lease(self) -> None:
        """A worker that was too late changes nothing."""
        self.push("a")
        (lost,) = self.claim()
        self.store.recover(POOL, WORKER, {})
        (lease,) = self.claim(worker=OTHER)
        assert lease.fence > lost.fence
        assert self.end(lost, value=b"1") == "STALE"
        assert self.note(lost, line=b"late") == "STALE"
        assert self.exchange(extend=[Extend("a", lost.fence)]).lost == ["a"]
        assert self.end(lease, value=b"2") == "OK"
        assert self.end(lease, value=b"3") in ("REPEAT", "STALE")
        assert self.end(Lease(id="none", fence=1)) == "GONE"
        record = self.record("a")
        assert (record.state, record.result, record.attempt) == ("succeeded", b"2", 0)
        assert record.ended

    def test_a_lease_of_a_deleted_task_is_not_one_of_its_successor(self) -> None:
        """The id is used again, and a worker of the task that was there before comes back."""
        self.push("a", keep_ms=0)
        (lost,) = self.claim()
        self.store.recover(POOL, WORKER, {})
        (lease,) = self.claim(worker=OTHER)
        self.end(lease)
        self.until(lambda: self.claim() == [] and self.store.record(POOL, "a") is None)
        self.push("a")
        (current,) = self.claim(worker=OTHER)
        assert [self.end(each) for each in (lost, lease, current)] == ["STALE", "STALE", "OK"]

    def test_a_push_under_a_lost_lease_creates_nothing(self) -> None:
        """LeaseLost says so; under the current lease it is a push as any other."""
        self.push("a")
        (lease,) = self.claim()
        under = LeaseRef(POOL, "a", lease.fence)
        assert self.store.push([Push(id="child", name="t")], under=under)[0].word == "OK"
        self.end(lease)
        with pytest.raises(LeaseLost):
            self.store.push([Push(id="b", name="t"), Push(id="c", name="t")], under=under)
        assert self.store.record(POOL, "b") is self.store.record(POOL, "c") is None

    # Outcomes

    def test_a_failed_attempt_is_tried_again_after_its_delay_until_the_retries_are_used_up(self) -> None:
        """Each attempt is in the log. A delay of -1 ends the task at once."""
        self.push("a", "b", retries=1)
        first, hopeless = self.claim(2)
        self.end(first, Outcome.ERROR, b'{"type":"E1"}', delay_ms=DAY_MS)
        self.end(hopeless, Outcome.ERROR, b'{"type":"E2"}', delay_ms=-1)
        record = self.record("a")
        assert (record.state, record.attempt, record.error) == ("restart", 1, b'{"type":"E1"}')
        assert record.due is not None
        assert self.state("b") == State.FAILED
        assert self.ids() == []
        self.act("run_now", "a")
        (second,) = self.claim()
        assert second.attempt == 2
        self.end(second, Outcome.TIMEOUT, b'{"type":"E3"}', delay_ms=0)
        assert (self.state("a"), self.record("a").attempt) == ("failed", 2)
        assert sum(b'"error"' in line for line in self.store.log(POOL, "a")) == 2

    def test_each_other_outcome_leads_to_its_state(self) -> None:
        """None of them is charged to the task, but a restart that says so."""
        ids = ("release", "restart", "counted", "cancel", "quarantine")
        self.push(*ids, retries=0)
        leases = dict(zip(ids, self.claim(5), strict=True))
        self.end(leases["release"], Outcome.RELEASE)
        self.end(leases["restart"], Outcome.RESTART, delay_ms=DAY_MS)
        self.end(leases["counted"], Outcome.RESTART, counted=True)
        self.end(leases["cancel"], Outcome.CANCEL, b"no longer wanted")
        self.end(leases["quarantine"], Outcome.QUARANTINE, b"unknown")
        assert [self.state(id) for id in ids] == ["pending", "postponed", "failed", "cancelled", "quarantined"]
        assert self.record("cancel").reason == "no longer wanted"
        assert [self.record(id).attempt for id in ids] == [0, 0, 1, 0, 0]

    def test_a_task_whose_name_no_worker_knows_waits_and_is_then_quarantined(self, tmp_path: Path) -> None:
        """UNKNOWN_AFTER is short here. An operator requeues it, and its time begins anew."""
        self.store.close()
        self.open(tmp_path, unknown_after=0.001)
        self.push("a")

        def is_quarantined() -> bool:
            for lease in self.claim():
                self.end(lease, Outcome.UNKNOWN, b"no such name", delay_ms=1)
            self.act("run_now", "a")
            return self.state("a") == State.QUARANTINED

        self.until(is_quarantined)
        assert (self.record("a").reason, self.record("a").attempt) == ("no such name", 0)
        assert self.act("requeue", "a") == ("OK", "pending")
        assert (self.record("a").reason, self.record("a").unknown_since) == ("", None)

    # Time

    def test_a_postponed_task_is_claimed_when_it_is_due(self) -> None:
        """By a delay or a moment of the store's clock; a moment that has passed is no delay."""
        self.push("later", delay_ms=DAY_MS)
        self.push("soon", delay_ms=50)
        self.push("now", due=1)
        assert self.state("later") == self.state("soon") == State.POSTPONED
        found = self.ids()
        while "soon" not in found:
            found += self.until(self.ids)
        assert found == ["now", "soon"]

    def test_an_expired_lease_is_taken_back_and_ends_a_task_that_loses_every_worker(self, tmp_path: Path) -> None:
        """The task is charged with a crash. MAX_CRASHES is 2 here."""
        self.store.close()
        self.open(tmp_path, SHORT_S)
        self.push("a", retries=5)
        (lost,) = self.claim()
        (lease,) = self.until(lambda: self.claim(worker=OTHER))
        assert (lease.crashes, lease.attempt) == (1, 1)
        assert self.end(lost) == "STALE"
        self.until(lambda: not self.claim() and self.state("a") == State.FAILED)
        assert self.record("a").crashes == 2

    def test_a_renewed_lease_lasts(self) -> None:
        """But not beyond the time limit of its task, which the renewal says: `left_ms`."""
        self.push("kept", "lost")
        kept, lost = self.claim(2)
        assert self.exchange(extend=[Extend("kept", kept.fence), Extend("lost", lost.fence, left_ms=50)]).lost == []
        self.until(lambda: [self.exchange(), self.state("lost") != State.LOCKED][1])
        assert self.end(kept) == "OK"

    def test_an_ended_task_is_deleted_after_its_retention(self) -> None:
        """`keep_ms` is that of the push."""
        self.push("a", keep_ms=50)
        self.push("b")
        for lease in self.claim(2):
            self.end(lease)
        self.until(lambda: self.claim() == [] and self.store.record(POOL, "a") is None)
        assert self.state("b") == State.SUCCEEDED

    # Handles, operators and supervisors

    def test_a_running_task_is_told_of_its_cancel(self) -> None:
        """A waiting one ends at once."""
        self.push("waiting", "asked", "forced")
        assert self.act("cancel", "waiting", value="why") == ("OK", "cancelled")
        asked, forced = self.claim(2)
        assert self.act("cancel", "asked", value="stop")[0] == "OK"
        assert self.act("cancel", "forced", value="halt", hard=True)[0] == "OK"
        reply = self.exchange(extend=[Extend(lease.id, lease.fence) for lease in (asked, forced)])
        assert sorted(reply.cancels) == [("asked", "stop"), ("forced", "halt")]
        assert reply.hard == ["forced"]
        self.end(asked, Outcome.ERROR, b"{}", delay_ms=0)
        assert [self.state(id) for id in ("waiting", "asked")] == ["cancelled", "cancelled"]
        assert self.record("waiting").reason == "why"

    def test_actions_are_answered_row_by_row(self) -> None:
        """A refused one changes nothing; a repeated one, with the same token, is done once."""
        self.push("a", "b", "ended")
        self.act("priority", "ended", value=9)
        self.end(self.claim()[0])
        rows = self.store.control(POOL, "postpone", ["a", "none", "ended"], value=f"+{DAY_MS}", token="t1")
        assert [(row.id, row.word) for row in rows] == [("a", "OK"), ("none", "GONE"), ("ended", "REFUSED")]
        assert self.state("a") == State.POSTPONED
        again = self.store.control(POOL, "postpone", ["a"], value=f"+{DAY_MS}", token="t1")
        assert again[0].word == "REPEAT"
        assert self.act("run_now", "a") == ("OK", "pending")
        uid = self.record("ended").push_uid
        assert self.act("retry", "ended") == ("OK", "pending")
        record = self.record("ended")
        assert (record.result, record.ended, record.push_uid) == (b"", None, uid)
        assert sorted(self.ids()) == ["a", "b", "ended"]

    def test_progress_and_lines_are_stored_under_the_lease(self) -> None:
        """A line with a number is stored once. The log has the last 100 lines."""
        self.push("a")
        (lease,) = self.claim()
        assert self.note(lease, done=3.0, total=12.0) == "OK"
        assert [self.note(lease, line=b"hello", number=1) for _ in range(2)] == ["OK", "OK"]
        assert (self.record("a").progress, self.record("a").total) == (3.0, 12.0)
        assert sum(b"hello" in line for line in self.store.log(POOL, "a")) == 1
        for number in range(2, 120):
            self.note(lease, line=f"line {number}".encode(), number=number)
        lines = self.store.log(POOL, "a")
        assert len(lines) <= 100
        assert b"line 119" in lines[-1]
        assert self.store.note(POOL, "none", 1, done=1.0) == "GONE"

    def test_the_leases_of_a_lost_worker_are_taken_back(self) -> None:
        """As judged, or without a charge; what a live process holds is kept."""
        self.push("judged", "free", "kept")
        judged, free, kept = self.claim(3)
        assert sorted(each[:2] for each in self.store.held(POOL, WORKER)) == sorted(
            (lease.id, lease.fence) for lease in (judged, free, kept)
        )
        end = Settlement("judged", judged.fence, Outcome.ERROR, b"{}", delay_ms=-1)
        assert self.store.recover(POOL, WORKER, {"judged": end}, {("kept", kept.fence)}) == 2
        assert [self.state(id) for id in ("judged", "free", "kept")] == ["failed", "pending", "locked"]
        assert self.record("free").attempt == self.record("free").crashes == 0

    # Capabilities

    def test_what_the_store_leaves_out_is_said_by_one_error(self) -> None:
        """A call of it, or a push that needs it, raises NotOffered, and the push creates nothing."""
        calls: dict[str, Callable[[], Any]] = {
            Capability.SCHEDULES: lambda: self.store.schedules(POOL),
            Capability.HISTORY: lambda: self.store.history_marks(POOL),
            Capability.UPKEEP: lambda: self.store.tick(POOL),
            Capability.QUESTIONS: lambda: self.store.fan_out,
            Capability.WAKING: lambda: self.store.waker(POOL, WORKER),
            Capability.ENDS: lambda: self.store.end_listener(POOL),
            Capability.CONFLICTS: lambda: self.push("a", conflict=Conflict.RUN_AFTER),
            "composites": lambda: self.push("a", kind="chain"),
        }
        for capability, call in calls.items():
            if capability not in self.store.capabilities:
                with pytest.raises(NotOffered, match=f"does not offer {capability}"):
                    call()
                assert self.store.record(POOL, "a") is None

    def test_a_waker_brings_a_token_to_an_idle_worker(self) -> None:
        """Of each of two pushes: `work`, or the lease of the task. For a store that offers it."""
        if Capability.WAKING in self.store.capabilities:
            with closing(self.store.waker(POOL, WORKER)) as waker:
                for id in "ab":
                    assert self.claim(1, idle=True) == []
                    self.push(id)
                    (token,) = self.arrived(waker)
                    assert ([token.id] if isinstance(token, Lease) else self.ids()) == [id]
                    waker.arm()

    def test_an_end_listener_tells_of_the_end_of_a_task(self) -> None:
        """Of channels that it subscribed to, after a `wait` asked for it. For a store that offers it."""
        if Capability.ENDS in self.store.capabilities:
            self.push("a", "b")
            a, b = (self.store.done_channel(POOL, id) for id in "ab")
            with closing(self.store.end_listener(POOL)) as listener:
                listener.subscribe([b])
                assert self.arrived(listener)[0][:2] == ("subscribe", b)
                assert [self.store.wait(POOL, id) for id in "ab"] == ["pending", "pending"]
                for lease in self.claim(2):
                    self.end(lease)
                assert [each[:2] for each in self.arrived(listener)] == [("message", b)], f"not {a}"
                assert self.store.wait(POOL, "b") == "succeeded"
