"""Map-reduce while its workers die and freeze: each chunk counts once, the reduce sees each once, nothing is lost."""

from __future__ import annotations

import os
import signal
from collections import Counter
from typing import Any

import pytest

from queueops import control
from queueops.results.handle import TaskHandle
from tests.faults.conftest import Bench
from tests.faults.counts import Count, Steady
from tests.faults.processes import Line
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults


def at(bench: Bench, phase: str, times: int = 1) -> list[Line]:
    """Wait until so many have come to this point; their lines of the ledger."""
    wait_until(lambda: len(bench.ledger.lines(phase)) >= times, say=bench.say)
    return bench.ledger.lines(phase)


def counts(handle: TaskHandle[Any]) -> dict[str, int]:
    """The chunks that there are, by state."""
    return {state: count for state, count in handle.status().chunks.items() if count}


def assert_each_counted_once(handle: TaskHandle[Any], number: int) -> None:
    """All chunks of one map are done, and the reduce has seen each once, in their order."""
    found = handle.result(timeout=60)
    assert [chunk[0] for chunk in found] == list(range(number))
    assert len({run for _, run in found}) == 1
    assert counts(handle) == {"done": number}


def test_a_map_whose_process_is_killed_half_way_leaves_no_double_chunks(bench: Bench) -> None:
    worker = bench.worker(LEASE=30.0)
    bench.ledger.close("map")
    handle = Count.push(1700, 700)
    at(bench, "map")
    wait_until(lambda: counts(handle).get("pending", 0) > 1200, say=bench.say)
    os.kill(worker.child(), signal.SIGKILL)
    bench.ledger.open("map")
    bench.wait([handle])
    assert_each_counted_once(handle, 700)
    assert len(bench.ledger.lines("map")) == 2
    assert set(Counter(line.id for line in bench.ledger.lines("chunk")).values()) == {1}


def stand_at(bench: Bench, handle: TaskHandle[Any], gate: int) -> list[bytes | None]:
    """A map waits at this chunk: when each of those that it has written was written. Less than a stage is not yet."""
    at(bench, f"map{gate}")
    stand = counts(handle)["pending"]
    assert gate - 500 < stand <= gate
    return written(bench, handle, stand)


def written(bench: Bench, handle: TaskHandle[Any], count: int) -> list[bytes | None]:
    """When each of the first chunks was written."""
    found: list[bytes | None] = []
    for first in range(0, count, 500):
        rows = bench.broker.chunk_rows("default", handle.id, range(first, min(first + 500, count)), "c")
        found += [row.fields["c"] for row in rows]
    return found


def test_a_map_that_is_killed_again_and_again_writes_no_chunk_twice_and_goes_on_where_it_was(bench: Bench) -> None:
    worker = bench.worker(LEASE=30.0)
    gates = (2600, 4700)
    for gate in gates:
        bench.ledger.close(f"map{gate}")
    handle = Steady.push(5200, gates)
    for gate in gates:
        stand = stand_at(bench, handle, gate)
        os.kill(worker.child(), signal.SIGKILL)
        bench.ledger.open(f"map{gate}")
    bench.wait([handle])
    assert written(bench, handle, len(stand)) == stand
    assert handle.result() == list(range(5200))
    assert counts(handle) == {"done": 5200}
    assert len(bench.ledger.lines("map")) == 3
    assert set(Counter(line.id for line in bench.ledger.lines("chunk")).values()) == {1}


def test_a_killed_map_that_yields_other_chunks_when_it_comes_back_keeps_only_what_is_the_same(bench: Bench) -> None:
    worker = bench.worker(LEASE=30.0)
    bench.ledger.close("map3100")
    handle = Steady.push(3200, [3100], other_from=1250)
    before = stand_at(bench, handle, 3100)
    os.kill(worker.child(), signal.SIGKILL)
    bench.ledger.open("map3100")
    bench.wait([handle])
    after = written(bench, handle, len(before))
    kept = next(number for number, (one, other) in enumerate(zip(before, after, strict=True)) if one != other)
    assert 1250 - 500 < kept <= 1250
    assert not set(after[kept:]) & set(before)
    assert handle.result() == [*range(1250), *range(-1250, -3200, -1)]
    assert counts(handle) == {"done": 3200}


def test_a_map_that_was_frozen_and_comes_back_late_writes_and_deletes_nothing(bench: Bench) -> None:
    frozen = bench.worker()
    bench.ledger.close("map1100")
    handle = Steady.push(2300, [1100])
    at(bench, "map1100")
    frozen.freeze()
    bench.ledger.open("map1100")
    bench.worker(LEASE=30.0)
    bench.wait([handle])
    before = bench.record(handle)
    frozen.signal_all(signal.SIGCONT)
    wait_until(lambda: "no longer ours" in frozen.text(), say=bench.say)
    assert bench.record(handle) == before
    assert handle.result() == list(range(2300))
    assert counts(handle) == {"done": 2300}


def test_chunks_whose_process_is_killed_run_again_and_those_that_had_ended_do_not(bench: Bench) -> None:
    worker = bench.worker(LEASE=30.0)
    bench.ledger.close("chunk150")
    handle = Count.push(200)
    wait_until(lambda: counts(handle).get("done", 0) >= 150, say=bench.say)
    done = {line.id for line in bench.ledger.lines("end")}
    at(bench, "chunk", 151)
    child = worker.child()
    wait_until(lambda: counts(handle) == {"done": 199, "active": 1}, say=bench.say)
    os.kill(child, signal.SIGKILL)
    bench.ledger.open("chunk150")
    bench.wait([handle])
    assert_each_counted_once(handle, 200)
    starts = Counter(line.id for line in bench.ledger.lines("chunk"))
    assert {starts[id] for id in done} == {1}
    assert starts[f"{handle.id}#150"] == 2
    assert len(bench.ledger.lines("reduce")) == 1


def test_a_worker_killed_with_its_supervisor_in_the_middle_of_chunks_loses_none(bench: Bench) -> None:
    first = bench.worker()
    for number in (100, 101, 102, 103):
        bench.ledger.close(f"chunk{number}")
    handle = Count.push(3000)
    at(bench, "chunk", 104)
    first.signal_all(signal.SIGKILL)
    for number in (100, 101, 102, 103):
        bench.ledger.open(f"chunk{number}")
    bench.worker(LEASE=30.0)
    bench.wait([handle])
    assert_each_counted_once(handle, 3000)


def test_workers_killed_between_the_last_chunk_and_the_reduce_leave_it_to_others(bench: Bench) -> None:
    first = bench.worker()
    bench.ledger.close("chunk9")
    handle = Count.push(10)
    wait_until(lambda: counts(handle) == {"done": 9, "active": 1}, say=bench.say)
    control.pause_lane("default", "default")
    bench.ledger.open("chunk9")
    wait_until(lambda: bench.record(handle).phase == "reduce", say=bench.say)
    assert bench.record(handle).state == "pending"
    first.signal_all(signal.SIGKILL)
    control.resume_lane("default", "default")
    bench.worker(LEASE=30.0)
    bench.wait([handle])
    assert_each_counted_once(handle, 10)
    assert len(bench.ledger.lines("reduce")) == 1


def test_a_reduce_whose_process_is_killed_runs_again_and_sees_each_chunk_once(bench: Bench) -> None:
    worker = bench.worker(LEASE=30.0)
    bench.ledger.close("reduce")
    handle = Count.push(600)
    at(bench, "reduce")
    os.kill(worker.child(), signal.SIGKILL)
    bench.ledger.open("reduce")
    (record,) = bench.wait([handle])
    assert (record.crashes, record.attempt) == (1, 0)
    assert len(bench.ledger.lines("reduce")) == 2
    assert set(Counter(line.id for line in bench.ledger.lines("chunk")).values()) == {1}
    assert_each_counted_once(handle, 600)


def test_two_watchdogs_and_no_worker_that_looks_give_each_chunk_back_once(bench: Bench) -> None:
    for number in range(4):
        bench.ledger.close(f"chunk{number}")
    dead = bench.worker()
    handle = Count.push(50)
    at(bench, "chunk", 4)
    dead.signal_all(signal.SIGKILL)
    bench.watchdog(), bench.watchdog()
    wait_until(lambda: "active" not in counts(handle), say=bench.say)
    rows = bench.broker.chunk_rows("default", handle.id, range(50), "cr")
    assert {row.fields["cr"] for row in rows if row.number < 4} == {b"1"}
    for number in range(4):
        bench.ledger.open(f"chunk{number}")
    bench.worker(LEASE=30.0)
    bench.wait([handle])
    assert_each_counted_once(handle, 50)


def test_a_frozen_worker_that_comes_back_late_counts_nothing(bench: Bench) -> None:
    for number in range(4):
        bench.ledger.close(f"chunk{number}")
    frozen = bench.worker()
    handle = Count.push(40)
    at(bench, "chunk", 4)
    frozen.freeze()
    for number in range(4):
        bench.ledger.open(f"chunk{number}")
    bench.worker(LEASE=30.0)
    bench.wait([handle])
    ends = len(bench.ledger.lines("end"))
    before = bench.record(handle)
    frozen.signal_all(signal.SIGCONT)
    at(bench, "end", ends + 4)
    wait_until(lambda: frozen.text().count("no longer ours") >= 4, say=bench.say)
    assert bench.record(handle) == before
    assert_each_counted_once(handle, 40)


def test_a_late_chunk_of_an_older_run_does_not_count_for_the_newer_one(bench: Bench) -> None:
    for gate in ("run1", "run2"):
        bench.ledger.close(gate)
    frozen = bench.worker()
    handle = Count.push(4)
    (first,) = at(bench, "map")
    at(bench, "chunk", 4)
    frozen.freeze()
    assert control.restart_from(handle.id, "map").word == "OK"
    bench.worker(LEASE=30.0)
    at(bench, "map", 2)
    at(bench, "chunk", 8)
    frozen.signal_all(signal.SIGCONT)
    bench.ledger.open("run1")
    assert {line.pid for line in at(bench, "end", 4)} == {first.pid}
    wait_until(lambda: frozen.text().count("no longer ours") >= 4, say=bench.say)
    assert counts(handle) == {"active": 4}
    bench.ledger.open("run2")
    bench.wait([handle])
    assert_each_counted_once(handle, 4)
    assert {run for _, run in handle.result()} == {2}
