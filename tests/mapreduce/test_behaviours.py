"""What the first seed promised of a map-reduce task, each promise kept more strictly than its own tests did."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pytest

from queueops import MapReduce, Retry, TaskCancelled, current, get
from queueops.kinds.mapreduce.store.chunk_keys import chunk_key
from queueops.model.ids import check_id
from queueops.model.states import State
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.mapreduce.frozen import Frozen
from tests.support.waiting import wait_until

AT_ONCE = Retry(delay=0, jitter=0)
HOUR = 3600


@pytest.fixture
def calls(namespace: str) -> list[Any]:
    """What was called, with what, in the order of the calls."""
    return []


def fail_once(calls: list[Any], what: Any) -> None:
    """Note a call, and fail when it is the first of its sort."""
    calls.append(what)
    if calls.count(what) == 1:
        raise OSError(f"{what} fails the first time")


def test_map_process_and_reduce_get_the_right_data(calls: list[Any]) -> None:
    class Squares(MapReduce):
        def map(self, first, *, last):
            calls.append(("map", first, last))
            yield from range(first, last)

        def process(self, chunk):
            calls.append(("process", chunk))
            return chunk * chunk

        def reduce(self, results):
            calls.append(("reduce", len(results), list(results), list(results), self.dropped))
            return sum(results)

    handle = Squares.push(2, last=5)
    run_worker()
    assert calls == [
        ("map", 2, 5),
        *(("process", chunk) for chunk in (2, 3, 4)),
        ("reduce", 3, [4, 9, 16], [4, 9, 16], []),
    ]
    assert (handle.state, handle.result()) == (State.SUCCEEDED, 29)


def test_a_broken_chunk_is_dropped_and_the_others_go_on(calls: list[Any]) -> None:
    class Reciprocals(MapReduce):
        on_chunk_failure = "drop"
        retries = 0

        def map(self):
            return [1, 0, 2, 4]

        def process(self, chunk):
            calls.append(chunk)
            return 1 / chunk

        def reduce(self, results):
            return {"sum": list(results), "count": len(results), "dropped": list(self.dropped)}

    handle = Reciprocals.push()
    run_worker()
    assert calls == [1, 0, 2, 4]
    assert handle.result() == {"sum": [1, 0.5, 0.25], "count": 3, "dropped": [1]}
    assert handle.status().chunks == {"pending": 0, "active": 0, "errored": 0, "done": 3, "failed": 1}


class Faltering(MapReduce, abstract=True):
    """Two chunks; each stage notes that it was called."""

    retries = 1
    retry = AT_ONCE
    calls: list[Any]

    def map(self):
        self.calls.append("map")
        return [1, 2]

    def process(self, chunk):
        self.calls.append(chunk)
        return chunk

    def reduce(self, results):
        self.calls.append("reduce")
        return list(results)


def test_a_map_that_failed_once_comes_back(calls: list[Any]) -> None:
    class MapFails(Faltering):
        def map(self):
            yield 7
            fail_once(calls, "map")
            yield 8

    MapFails.calls = calls
    handle = MapFails.push()
    run_worker()
    assert calls == ["map", "map", 7, 8, "reduce"]
    assert handle.result() == [7, 8]


def test_a_reduce_that_failed_once_comes_back(calls: list[Any]) -> None:
    class ReduceFails(Faltering):
        def reduce(self, results):
            found = list(results)
            fail_once(calls, "reduce")
            return found

    ReduceFails.calls = calls
    handle = ReduceFails.push()
    run_worker()
    assert calls == ["map", 1, 2, "reduce", "reduce"]
    assert (handle.result(), handle.status().attempt) == ([1, 2], 1)


def test_a_chunk_that_failed_once_comes_back(calls: list[Any]) -> None:
    class ProcessFails(Faltering):
        def process(self, chunk):
            fail_once(calls, chunk)
            return chunk

    ProcessFails.calls = calls
    handle = ProcessFails.push()
    run_worker()
    assert sorted(calls[1:-1]) == [1, 1, 2, 2]
    assert (calls[0], calls[-1]) == ("map", "reduce")
    assert handle.result() == [1, 2]


def test_a_map_whose_worker_froze_comes_back(calls: list[Any]) -> None:
    class MapFreezes(Faltering): ...

    MapFreezes.calls = calls
    handle = MapFreezes.push()
    frozen = Frozen()
    assert frozen.lease.id == handle.id
    run_worker()
    assert calls == ["map", 1, 2, "reduce"]
    assert frozen.comes_back(b"5") == "STALE"
    assert (handle.result(), handle.status().crashes) == ([1, 2], 0)
    assert handle.status().chunks["done"] == 2


def test_a_reduce_whose_worker_froze_comes_back(calls: list[Any]) -> None:
    class ReduceFreezes(Faltering): ...

    ReduceFreezes.calls = calls
    handle = ReduceFreezes.push()
    run_worker(until_idle=False)
    for _ in range(2):
        run_worker(until_idle=False)
    frozen = Frozen()
    assert (frozen.lease.id, frozen.lease.phase) == (handle.id, "reduce")
    run_worker()
    assert calls == ["map", 1, 2, "reduce"]
    assert frozen.comes_back() == "STALE"
    assert (handle.result(), handle.status().crashes) == ([1, 2], 1)


def test_a_chunk_whose_worker_froze_comes_back(calls: list[Any]) -> None:
    class ProcessFreezes(Faltering): ...

    ProcessFreezes.calls = calls
    handle = ProcessFreezes.push()
    run_worker(until_idle=False)
    frozen = Frozen()
    assert frozen.lease.id == f"{handle.id}#0"
    run_worker()
    assert calls == ["map", 1, 2, "reduce"]
    assert frozen.comes_back() in ("STALE", "REPEAT")
    assert handle.result() == [1, 2]
    assert handle.status().chunks["done"] == 2


def test_a_cancelled_task_runs_no_second_chunk_and_no_reduce(calls: list[Any]) -> None:
    class Cancelled(Faltering):
        def process(self, chunk):
            calls.append(chunk)
            assert get(current().root).cancel("seen enough")

    Cancelled.calls = calls
    handle = Cancelled.push()
    run_worker()
    assert calls == ["map", 1]
    assert handle.state == State.CANCELLED
    assert handle.status().chunks == {"pending": 1, "active": 0, "errored": 0, "done": 1, "failed": 0}
    with pytest.raises(TaskCancelled, match="seen enough"):
        handle.result()


def test_the_status_tells_the_stage_and_counts_the_chunks(calls: list[Any]) -> None:
    class Watched(Faltering):
        def note(self, stage):
            status = Watched.status(current().root)
            calls.append((stage, str(status.state), status.chunks and {k: n for k, n in status.chunks.items() if n}))

        def map(self):
            self.note("map")
            return [1, 2, 3]

        def process(self, chunk):
            self.note(chunk)

        def reduce(self, results):
            self.note("reduce")

    handle = Watched.push()
    assert Watched.status(handle.id).state == State.PENDING
    run_worker()
    assert calls == [
        ("map", "mapping", calls[0][2]),
        (1, "aggregating", {"pending": 2, "active": 1}),
        (2, "aggregating", {"pending": 1, "active": 1, "done": 1}),
        (3, "aggregating", {"active": 1, "done": 2}),
        ("reduce", "reducing", {"done": 3}),
    ]
    assert not calls[0][2]
    assert Watched.status(handle.id).state == State.SUCCEEDED


def test_there_is_no_status_of_a_task_that_is_not_there(calls: list[Any]) -> None:
    class Absent(Faltering): ...

    assert Absent.status("nobody-pushed-this") is None
    handle = Absent.using(delay=HOUR).push()
    assert Absent.status(handle.id).state == State.POSTPONED
    handle.cancel()
    assert Absent.status(handle.id).state == State.CANCELLED


def test_the_status_is_found_in_whichever_pool_the_task_is(calls: list[Any]) -> None:
    class Elsewhere(Faltering): ...

    Elsewhere.calls = calls
    handle = Elsewhere.using(pool="other").push()
    assert Elsewhere.status(handle.id).pool == "other"
    run_worker()
    assert Elsewhere.status(handle.id).chunks["done"] == 2


def test_the_handle_has_the_id_that_the_class_or_chance_gives(calls: list[Any]) -> None:
    class Own(Faltering):
        def task_id(self, path):
            return f"count:{path}"

        def map(self, path):
            calls.append(path)
            return []

    class Chance(Faltering): ...

    Own.calls = Chance.calls = calls
    first, same, other = Own.push("a"), Own.push("a"), Own.push("b")
    assert [handle.id for handle in (first, same, other)] == ["count:a", "count:a", "count:b"]
    assert [handle.word for handle in (first, same, other)] == ["OK", "EXISTS", "OK"]
    assert len({check_id(Chance.push().id) for _ in range(50)}) == 50
    run_worker()
    assert Counter(calls)["a"] == 1


@pytest.mark.parametrize("given", [(), (HOUR,)], ids=["the class says when", "the call says when"])
def test_what_is_postponed_runs_without_data_when_its_time_has_come(calls: list[Any], given: tuple[int, ...]) -> None:
    class Later(Faltering):
        delay = 2 * HOUR

    Later.calls = calls
    handle = Later.postpone(*given)
    assert run_worker() == 0
    assert (handle.state, calls) == (State.POSTPONED, [])
    status = handle.status()
    assert status.due_ms - status.created_ms == 1000 * (given or (2 * HOUR,))[0]
    assert handle.run_now()
    run_worker()
    assert handle.result() == [1, 2]


def test_what_is_postponed_is_due_after_its_delay(calls: list[Any]) -> None:
    class AfterDelay(Faltering): ...

    AfterDelay.calls = calls
    before = time.time()
    due = {AfterDelay.postpone(seconds).status().due_ms / 1000 - seconds for seconds in (HOUR, 2 * HOUR)}
    assert all(before - 1 <= moment <= time.time() + 1 for moment in due)
    soon = AfterDelay.postpone(0.001)
    wait_until(lambda: run_worker() > 0)
    assert soon.result() == [1, 2]


def test_what_is_postponed_gets_its_data(calls: list[Any]) -> None:
    class WithData(Faltering):
        def map(self, *chunks, more=()):
            return [*chunks, *more]

    WithData.calls = calls
    handle = WithData.postpone(HOUR, 5, 0, more=[None])
    assert handle.run_now()
    run_worker()
    assert handle.result() == [5, 0, None]


@pytest.mark.parametrize("values", [[], [0, "", False, None, [], {}, 0.0], [[0], [None]], [""] * 3])
def test_falsy_data_and_results_stay_what_they_are_and_an_empty_map_reduces_nothing(
    calls: list[Any], values: list[Any]
) -> None:
    class Same(MapReduce):
        def map(self):
            yield from values

        def process(self, chunk):
            calls.append(chunk)
            return chunk

        def reduce(self, results):
            return [len(results), list(results)]

    handle = Same.push()
    run_worker()
    assert repr(calls) == repr(values)
    assert repr(handle.result()) == repr([len(values), values])


def test_a_falsy_result_of_the_reduce_is_the_result(calls: list[Any]) -> None:
    class Falsy(MapReduce):
        def map(self, value):
            return [value]

        def process(self, chunk):
            return chunk

        def reduce(self, results):
            return next(iter(results))

    values: list[Any] = [0, "", False, None, [], {}]
    handles = [Falsy.push(value) for value in values]
    run_worker()
    assert repr([handle.result() for handle in handles]) == repr(values)


def test_results_come_in_the_order_of_the_map(calls: list[Any]) -> None:
    class Backwards(MapReduce):
        retries = 1
        retry = AT_ONCE

        def map(self):
            return range(1100)

        def process(self, chunk):
            if chunk % 3 == 0 and chunk not in calls:
                calls.append(chunk)
                raise OSError("comes later")
            return chunk

        def reduce(self, results):
            return list(results)

    handle = Backwards.push()
    run_worker()
    assert handle.result() == list(range(1100))


def test_the_records_of_a_task_and_of_its_chunks_are_kept_when_it_is_over(calls: list[Any]) -> None:
    class Kept(Faltering): ...

    Kept.calls = calls
    handle = Kept.push()
    run_worker()
    keys = get_broker().keys(handle.pool)
    client = get_broker().client
    assert handle.status().is_over
    assert all(client.exists(chunk_key(keys, handle.id, number)) for number in (0, 1))
