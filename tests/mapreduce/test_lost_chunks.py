"""Chunks whose record is lost: they have failed, can be let go, and hold nothing up."""

from __future__ import annotations

import pytest

from queueops.kinds.mapreduce import states
from queueops.kinds.mapreduce.store.chunk_keys import chunk_key, chunk_set
from tests.kernel.desk import POOL
from tests.mapreduce.bench import ChunkDesk

LATER = 10**7


def test_a_lost_chunk_is_let_go_once_however_often_and_in_which_way(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=3)
    desk.client.delete(f"{desk.keys.task('m')}#0")
    desk.lost.add("m#0")
    desk.lease()
    assert (desk.state("m"), desk.counts()) == ("failed", (1, 1, 0, 0, 1))
    desk.broker.mend_all(POOL, "m", "drop", "failed")
    desk.mend("drop", 0)
    desk.broker.mend_all(POOL, "m", "drop", "failed")
    assert desk.field("xd") == "1"


@pytest.mark.parametrize("again", ["by number", "all", "retried", "skipped"])
def test_a_chunk_that_was_let_go_and_whose_record_is_lost_then_is_let_go_once(desk: ChunkDesk, again: str) -> None:
    desk.push_mapped(chunks=4)
    desk.fail(desk.lease())
    desk.mend("drop", 0)
    desk.client.delete(chunk_key(desk.keys, "m", 0))
    desk.lost.add("m#0")
    if again == "by number":
        assert desk.mend("drop", 0) == 1
    else:
        desk.broker.mend_all(POOL, "m", {"all": "drop", "retried": "retry", "skipped": "skip"}[again], "failed")
    assert (desk.field("xd"), desk.field("rd")) == ("1", "")
    desk.fail(desk.lease())
    assert desk.state("m") == "failed"


WHOLE = [
    (verb, state)
    for verb in ("retry", "drop", "skip", "redo", "set")
    for state in ("pending", "errored", "failed")
    if state in states.CHUNKS.allowing(verb)
]


@pytest.mark.parametrize(("verb", "state"), WHOLE)
def test_a_chunk_whose_record_is_lost_does_not_keep_what_is_done_to_all_from_ending(
    desk: ChunkDesk, verb: str, state: str
) -> None:
    desk.push_mapped(chunks=3, drop="3")
    if state != "pending":
        for lease in desk.claim(3):
            desk.fail(lease, delay_ms=LATER if state == "errored" else -1)
    desk.client.delete(chunk_key(desk.keys, "m", 1))
    desk.lost.add("m#1")
    answer = desk.broker.mend_all(POOL, "m", verb, state, value=b'99:{"n":1}' if verb == "set" else b"1")
    assert (answer.left, desk.field("rd")) == (0, "")
    assert sum(desk.counts()) == 3
    assert desk.client.zscore(chunk_set(desk.keys, "m", "failed"), 1) is not None


@pytest.mark.parametrize("state", ["pending", "done"])
def test_a_reduce_does_not_begin_when_chunks_have_vanished(desk: ChunkDesk, state: str) -> None:
    desk.push_mapped(chunks=5)
    desk.end_all(desk.claim(2))
    last = desk.lease()
    if state == "done":
        desk.process()
    desk.client.delete(chunk_set(desk.keys, "m", state))
    for number in range(5):
        if number != 2:
            desk.client.delete(chunk_key(desk.keys, "m", number))
    desk.end_all([last])
    kept = {"pending": 3, "done": 1}[state]
    record = desk.record("m")
    assert (record.state, record.reason) == (
        "failed",
        f"only {kept} of its 5 chunks are still there: restart it from its map",
    )
    if state == "pending":
        desk.lost.update({"m#0", "m#1"})
    assert desk.restart("map") == "OK"
    desk.map("m", 5)
    desk.lost.clear()
    desk.process()
    desk.reduce()


def test_what_failed_before_the_clock_was_set_back_is_dropped_too(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=2, drop="2")
    desk.fail(desk.lease())
    desk.client.zadd(chunk_set(desk.keys, "m", "failed"), {"0": desk.now() + 60_000}, xx=True)
    assert [desk.broker.mend_all(POOL, "m", "drop", "failed").changed for _ in range(2)] == [1, 1]
    assert (desk.field("xd"), desk.field("rd")) == ("1", "")
