"""How a chunk ends: the one attempt rule, crashes, back-off, what its task makes of a failure."""

from __future__ import annotations

import pytest

from queueops import inspect
from queueops.model.contracts import Outcome
from tests.kernel.desk import POOL, end
from tests.mapreduce.bench import ChunkDesk, number_of
from tests.mapreduce.conftest import MakeDesk

LATER = 10**7


@pytest.mark.parametrize("retries", [0, 1, 3])
@pytest.mark.parametrize("outcome", [Outcome.ERROR, Outcome.TIMEOUT])
def test_a_chunk_is_tried_once_more_than_its_retries(desk: ChunkDesk, retries: int, outcome: Outcome) -> None:
    desk.push_mapped(chunks=1, chunk_retries=retries, drop="1")
    for attempt in range(1, retries + 2):
        lease = desk.lease()
        assert (lease.attempt, lease.retries) == (attempt, retries)
        assert desk.settle(lease, outcome, b"{}", delay_ms=LATER) == "OK"
        if attempt <= retries:
            assert desk.counts() == (0, 0, 1, 0, 0)
            desk.make_due("m#0")
            desk.tick()
    assert desk.counts() == (0, 0, 0, 0, 1)
    assert desk.chunk(0)["at"] == str(retries + 1)
    assert desk.lease().phase == "reduce"


def test_an_error_without_another_attempt_fails_at_once(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=1, drop="1")
    desk.fail(desk.lease())
    assert desk.counts() == (0, 0, 0, 0, 1)


def test_the_errors_of_chunks_are_grouped_under_their_task(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=2)
    desk.fail(desk.lease(), delay_ms=LATER)
    row = desk.client.hgetall(desk.keys.error("f1"))
    assert (row[b"name"], row[b"sample"], row[b"count"]) == (b"tests.count", b"m", b"1")
    desk.fail(desk.lease())
    assert desk.client.zrange(desk.keys.error("f1") + "#tasks", 0, -1) == [b"m"]


def test_a_crash_of_a_chunk_counts_for_alarms_as_its_other_failures(desk: ChunkDesk) -> None:
    """Else a map-reduce task with a muted error had no alarm when its chunks lose their workers."""
    desk.push_mapped(chunks=2)
    desk.fail(desk.lease(), delay_ms=LATER)
    desk.settle(desk.lease(), Outcome.CRASH, b"died", delay_ms=LATER)
    assert desk.counted("loud|tests.count") == 2


def test_chunks_that_succeed_after_the_end_of_their_task_count_as_its_progress(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=6)
    leases = desk.claim(6)
    desk.end_all(leases[:1])
    desk.fail(leases[1])
    assert (desk.state("m"), desk.record("m").progress) == ("failed", 1)
    desk.end_all(leases[2:])
    assert (desk.counts(), desk.record("m").progress, desk.record("m").total) == ((0, 0, 0, 5, 1), 5, 6)


def test_a_failed_chunk_fails_its_task_which_says_which_one(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=5)
    first, second = desk.claim(2)
    desk.fail(second)
    record = desk.record("m")
    assert (record.state, record.reason, record.error) == ("failed", "chunk 1 failed", b'{"type":"E"}')
    assert desk.claim(10) == []
    assert desk.settle(first) == "OK"
    assert desk.counts() == (3, 0, 0, 1, 1)


@pytest.mark.parametrize(
    ("policy", "total", "most"),
    [("1", 4, 1), ("25%", 8, 2), ("12.5%", 8, 1), ("50%", 3, 1), ("99%", 100, 99), ("10000000", 5, 5), ("0%", 4, 0)],
)
def test_so_many_chunks_may_fail_and_no_more(desk: ChunkDesk, policy: str, total: int, most: int) -> None:
    desk.push_mapped(chunks=total, drop=policy)
    leases = desk.claim(total)
    for lease in leases[:most]:
        desk.fail(lease)
    assert desk.state("m") == ("aggregating" if most < total else "pending")
    if most < total:
        desk.fail(leases[most])
        assert desk.state("m") == "failed"


def test_a_reduce_gets_no_result_of_dropped_chunks(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=3, drop="10000000")
    first, second, third = desk.claim(3)
    desk.fail(second)
    desk.end_all([first, third])
    assert desk.state("m") == "pending"
    assert desk.results() == [b"0", b"2"]
    assert desk.broker.chunk_numbers(POOL, "m", "failed") == [1]


def test_a_chunk_that_kills_its_worker_fails_after_three_crashes(make_desk: MakeDesk) -> None:
    desk = make_desk(max_crashes=3)
    desk.push_mapped(chunks=1, drop="1")
    for crash in range(1, 4):
        assert desk.lease().crashes == crash - 1
        desk.make_due("m#0")
        desk.tick()
        if crash < 3:
            assert desk.counts() == (0, 0, 1, 0, 0)
            desk.make_due("m#0")
            desk.tick()
    assert desk.counts() == (0, 0, 0, 0, 1)
    assert desk.chunk(0)["y"].startswith("lost its worker 3 times")
    assert desk.chunk(0).get("at", "0") == "0"


def test_a_frozen_worker_cannot_settle_a_chunk_that_was_taken_from_it(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=1)
    old = desk.lease("w1")
    desk.make_due("m#0")
    desk.tick()
    assert desk.settle(old) == "STALE"
    desk.make_due("m#0")
    desk.tick()
    new = desk.lease("w2")
    assert desk.settle(old) == "STALE"
    assert desk.extend(old).lost == ["m#0"]
    assert desk.broker.note(POOL, "m#0", old.fence, done=1) == "STALE"
    assert desk.settle(new, value=b"7", worker="w2") == "OK"
    assert desk.results() == [b"7"]


def test_a_dead_workers_chunks_are_judged_or_go_back_free_of_charge(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=4)
    one, two, three = desk.claim(3, "w1")
    (other,) = desk.claim(1, "w2")
    judged = {one.id: end(one, Outcome.CRASH, b"killed"), two.id: end(two, Outcome.TIMEOUT, b"{}", delay_ms=LATER)}
    assert desk.broker.recover(POOL, "w1", judged) == 3
    assert desk.counts() == (1, 1, 2, 0, 0)
    assert (desk.chunk(0)["cr"], desk.chunk(1)["at"], desk.chunk(2).get("cr")) == ("1", "1", None)
    assert desk.settle(three) == "STALE"
    assert desk.settle(other, worker="w2") == "OK"


def test_a_worker_keeps_what_it_knows_it_holds(desk: ChunkDesk) -> None:
    desk.push_mapped()
    one, _two = desk.claim(2)
    assert desk.broker.recover(POOL, "w1", {}, keep=[(one.id, one.fence)]) == 1
    assert desk.counts() == (2, 1, 0, 0, 0)
    assert desk.settle(one) == "OK"


def test_releasing_a_chunk_costs_it_nothing(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=2)
    one, _ = desk.claim(2)
    assert desk.settle(one, Outcome.RELEASE) == "OK"
    again = desk.lease()
    assert (again.id, again.attempt, again.crashes) == ("m#0", 1, 0)


def test_a_restart_counts_only_where_it_says_so(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=1, chunk_retries=0, drop="1")
    desk.settle(desk.lease(), Outcome.RESTART, b"", delay_ms=LATER)
    assert (desk.counts(), desk.chunk(0).get("at")) == ((0, 0, 1, 0, 0), None)
    desk.make_due("m#0")
    desk.tick()
    desk.settle(desk.lease(), Outcome.RESTART, b"its executor could not begin it", delay_ms=LATER)
    assert (desk.chunk(0)["s"], desk.chunk(0)["y"]) == ("errored", "its executor could not begin it")
    desk.make_due("m#0")
    desk.tick()
    desk.settle(desk.lease(), Outcome.RESTART, b"", delay_ms=LATER, counted=True)
    assert desk.counts() == (0, 0, 0, 0, 1)


def test_a_worker_that_does_not_know_the_class_gets_no_more_of_its_chunks(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=5)
    lease = desk.lease("stranger")
    assert desk.settle(lease, Outcome.UNKNOWN, b"never heard of it", "stranger", delay_ms=LATER) == "OK"
    row = desk.chunk(0)
    assert (row["s"], row["y"], row.get("at")) == ("errored", "never heard of it", None)
    found = desk.exchange("stranger", want=5, idle=True)
    assert (found.leases, found.ready) == ([], False)
    assert len(desk.claim(5, "w1")) == 4


def test_chunks_whose_class_no_live_worker_knows_are_an_alarm(desk: ChunkDesk) -> None:
    desk.await_early_minute()
    desk.tick()
    desk.push_mapped(chunks=5)
    desk.client.delete(desk.keys.metrics(desk.now() // 60_000))  # the push was long ago
    for worker, alarms in (("w1", []), ("w2", ["unknown default/tests.count"])):
        desk.broker.beat(POOL, "w1", {"names": "other", "slots": 1, "state": "live"})
        desk.broker.beat(POOL, "w2", {"names": "other", "slots": 1, "state": "live"})
        desk.settle(desk.lease(worker), Outcome.UNKNOWN, b"never heard of it", worker, delay_ms=LATER)
        assert [alarm.key for alarm in inspect.snapshot().alarms if alarm.kind == "unknown"] == alarms


def test_a_class_that_nobody_knows_fails_its_chunks_in_the_end(make_desk: MakeDesk) -> None:
    desk = make_desk(unknown_after=0.001)
    desk.push_mapped(chunks=1)
    desk.settle(desk.lease(), Outcome.UNKNOWN, b"never heard of it", delay_ms=LATER)
    desk.client.hset(f"{desk.keys.task('m')}#0", mapping={"c": 1, "uk": 1})
    desk.make_due("m#0")
    desk.tick()
    desk.settle(desk.lease("w2"), Outcome.UNKNOWN, b"never heard of it", "w2", delay_ms=LATER)
    assert desk.state("m") == "failed"
    assert desk.record("m").reason == "chunk 0 failed: never heard of it"


@pytest.mark.parametrize("state", ["pending", "active", "errored"])
@pytest.mark.parametrize("garbage", [False, True])
def test_a_chunk_whose_record_is_lost_counts_as_failed(desk: ChunkDesk, state: str, garbage: bool) -> None:
    desk.push_mapped(chunks=2, drop="1", xw=9)
    if state != "pending":
        lease = desk.lease()
        if state == "errored":
            desk.fail(lease, delay_ms=LATER)
    key = f"{desk.keys.task('m')}#0"
    desk.client.delete(key)
    if garbage:
        desk.client.set(key, b"\xff")
    desk.lost.add("m#0")
    if state != "pending":
        desk.make_due("m#0")
        desk.tick()
    desk.process()
    assert desk.counts() == (0, 0, 0, 1, 1)
    assert desk.results() == [b"1"]
    assert desk.mend("retry", 0) == 0
    desk.client.delete(key)
    assert desk.broker.mend_chunks(POOL, "m", "retry", [0]).refused == {0: ""}


def test_garbage_in_the_fields_of_a_task_stops_no_script(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=3, mx="many", xr="few", xw="none", oc="some")
    lease = desk.lease()
    desk.fail(lease, delay_ms=LATER)
    assert desk.state("m") == "failed"
    desk.client.hdel(desk.keys.task("m"), "mx", "xw")


def test_a_log_line_and_progress_of_a_chunk_are_its_own(desk: ChunkDesk) -> None:
    desk.push_mapped()
    lease = desk.lease()
    assert desk.broker.note(POOL, lease.id, lease.fence, done=3, total=4, line=b"half way") == "OK"
    assert (desk.chunk(0)["pr"], desk.chunk(0)["to"]) == ("3", "4")
    assert (desk.field("pr"), desk.field("to")) == ("0", "3")
    assert b"half way" in desk.client.lrange(desk.keys.log("m#0"), 0, -1)[0]


@pytest.mark.parametrize("outcome", [Outcome.TIMEOUT, Outcome.ERROR])
def test_one_that_was_interrupted_or_killed_because_its_task_was_cancelled_hard_has_not_failed(
    desk: ChunkDesk, outcome: Outcome
) -> None:
    desk.push_mapped(chunks=2, retries=0)
    chunk = desk.lease()
    desk.control("cancel", "m", hard=True)
    assert desk.extend(chunk).hard == [chunk.id]
    desk.settle(chunk, outcome, b"{}", delay_ms=-1)
    assert (desk.chunk(number_of(chunk)).get("at"), desk.counts()) == (None, (2, 0, 0, 0, 0))
    desk.check()
    assert desk.restart("process") == "OK"
    desk.process()
    desk.reduce()
    assert desk.states("m") == ["succeeded"]


def test_a_chunk_that_comes_back_is_ready_whatever_else_is_due_at_the_same_time(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=1)
    desk.fail(desk.lease(), delay_ms=LATER)
    desk.client.zadd(desk.keys.agenda, {"m#0": 1, "~lane:default": 2})
    assert desk.tick() == {"promoted": 1, "lane": 1}
    assert [number_of(lease) for lease in desk.claim(1)] == [0]


def test_a_chunk_that_goes_back_is_ready_whatever_ends_with_it(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=1)
    chunk = desk.lease()
    desk.push("i", kind="iterator", own=(("wi", 1),))
    iterator = desk.lease()
    ends = [end(chunk, Outcome.RELEASE), end(iterator, Outcome.CANCEL)]
    assert desk.exchange("w1", settle=ends).settled == ["OK", "OK"]
    assert [number_of(lease) for lease in desk.claim(1)] == [0]
