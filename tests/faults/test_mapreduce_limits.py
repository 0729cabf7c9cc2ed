"""What map-reduce promises that only real workers can show: balance between them, and the limits of time."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.faults.conftest import Bench
from tests.faults.counts import Endless, Hanging, Shared, Slow
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults


def test_chunks_are_balanced_between_workers_by_how_many_each_may_have(bench: Bench) -> None:
    workers = [bench.worker(LEASE=30.0) for _ in range(2)]
    pids = {worker.child() for worker in workers}
    bench.ledger.close("chunks")
    small, large = Shared.push(3), Shared.push(5)
    wait_until(lambda: len(bench.ledger.lines("chunk")) >= 7, say=bench.say)
    waiting = Counter((line.id.partition("#")[0], line.pid) for line in bench.ledger.lines("chunk"))
    assert sorted(count for (id, _), count in waiting.items() if id == small.id) == [1, 2]
    assert [count for (id, _), count in waiting.items() if id == large.id] == [2, 2]
    assert large.status().chunks == {"pending": 1, "active": 4, "errored": 0, "done": 0, "failed": 0}
    bench.ledger.open("chunks")
    bench.wait([small, large])
    assert set(small.result()) == pids
    assert (len(small.result()), len(large.result())) == (3, 5)


@pytest.mark.parametrize("stage", ["map", "process", "reduce"])
def test_a_map_a_chunk_or_a_reduce_that_asks_for_more_time_gets_it(bench: Bench, stage: str) -> None:
    worker = bench.worker()
    child = worker.child()
    handle = Slow.push({"map": 0.0, "process": 0.0, "reduce": 0.0} | {stage: 1.5})
    (record,) = bench.wait([handle])
    assert handle.result() == ["in time"]
    assert record.crashes == 0
    assert [line.phase for line in bench.ledger.lines()] == ["extended", "end"]
    assert worker.children() == [child]


def test_a_map_a_chunk_and_a_reduce_that_hang_once_are_interrupted_and_come_back(bench: Bench) -> None:
    worker = bench.worker()
    child = worker.child()
    handle = Hanging.push()
    bench.wait([handle])
    assert handle.result() == [1]
    calls = [line.phase for line in bench.ledger.lines()]
    assert list(dict.fromkeys(calls)) == ["map", "chunk", "reduce"]
    assert min(Counter(calls).values()) >= 2
    (row,) = bench.broker.chunk_rows("default", handle.id, [0], "at", "cr")
    assert int(row.fields["at"]) >= 1
    assert row.fields["cr"] is None
    assert worker.children() == [child]


def test_a_slow_map_shows_its_chunks_as_it_finds_them_and_is_cancelled_at_the_next_one(bench: Bench) -> None:
    bench.worker()
    handle = Endless.push()
    wait_until(lambda: handle.status().chunks["pending"] > 0, say=bench.say)
    handle.cancel("enough")
    (record,) = bench.wait([handle], "cancelled")
    assert record.reason == "enough"
    assert len(bench.ledger.lines("found")) < 400
