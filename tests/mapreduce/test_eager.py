"""Map-reduce in eager mode: the same results, failures and counts as with workers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from queueops import MapReduce, TaskCancelled, TaskFailed, current
from queueops.model.states import State
from queueops.testing import eager


class Divided(MapReduce):
    """Ten divided by each chunk; what reduces tells what it was given."""

    name = "tests.divided"
    on_chunk_failure = "drop:1"
    retries = 1
    calls: list[Any] = []

    def map(self, *chunks):
        yield from chunks

    def process(self, chunk):
        self.calls.append(chunk)
        return 10 / chunk

    def reduce(self, results):
        return {"count": len(results), "results": list(results), "dropped": list(self.dropped)}


@pytest.fixture(autouse=True)
def nowhere(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.QUEUEOPS = {"URL": "redis://127.0.0.1:1"}
    monkeypatch.setattr(Divided, "calls", [])


def test_it_maps_processes_and_reduces_and_has_no_chunks_of_its_own_when_the_map_is_empty() -> None:
    with eager():
        handle = Divided.push(1, 2)
        assert handle.result() == {"count": 2, "results": [10, 5], "dropped": []}
        assert handle.status().chunks == {"pending": 0, "active": 0, "errored": 0, "done": 2, "failed": 0}
        assert handle.progress.done == 2
        assert Divided.push().result() == {"count": 0, "results": [], "dropped": []}
        assert Divided.postpone(3600, 5).result()["results"] == [2]
        assert [each.result()["count"] for each in Divided.push_many([(1,), (1, 2)])] == [1, 2]


def test_a_chunk_has_its_attempts_and_is_dropped_when_it_may_be() -> None:
    with eager():
        handle = Divided.push(1, 0, 2)
        assert handle.result() == {"count": 2, "results": [10, 5], "dropped": [1]}
        assert Divided.calls == [1, 0, 0, 2]
        assert handle.status().chunks["failed"] == 1


def test_one_failed_chunk_too_many_fails_the_task_with_its_error() -> None:
    with eager():
        handle = Divided.push(0, 1, 0, 2)
        with pytest.raises(TaskFailed, match="division by zero"):
            handle.result()
        assert handle.state == State.FAILED
        assert "chunk 2 failed" in handle.status().reason
        assert handle.status().chunks == {"pending": 1, "active": 0, "errored": 0, "done": 1, "failed": 2}


def test_a_map_and_a_reduce_that_fail_have_their_attempts() -> None:
    class Fails(MapReduce):
        retries = 1
        calls: list[str] = []

        def map(self, stage):
            self.calls.append("map")
            if stage == "map":
                raise OSError("no map")
            return [1]

        def process(self, chunk):
            return chunk

        def reduce(self, results):
            self.calls.append("reduce")
            raise OSError("no reduce")

    with eager():
        with pytest.raises(TaskFailed, match="no map"):
            Fails.push("map").result()
        with pytest.raises(TaskFailed, match="no reduce"):
            Fails.push("reduce").result()
        assert Fails.calls == ["map", "map", "map", "reduce", "reduce"]


def test_a_failed_task_can_be_retried() -> None:
    class Mended(MapReduce):
        retries = 0
        broken = True

        def map(self):
            return [1, 2]

        def process(self, chunk):
            if chunk == 2 and self.broken:
                raise ValueError("broken")
            return chunk

        def reduce(self, results):
            return list(results)

    with eager():
        handle = Mended.push()
        assert handle.state == State.FAILED
        Mended.broken = False
        assert handle.retry()
        assert handle.result() == [1, 2]


def test_the_reduce_has_limits_of_its_own() -> None:
    class TwoLimits(MapReduce):
        retries, reduce_retries, chunk_retries = 0, 3, 2
        calls: list[str] = []

        def map(self):
            return [1]

        def process(self, chunk):
            self.calls.append("chunk")
            if self.calls.count("chunk") < 3:
                raise OSError("not yet")
            return chunk

        def reduce(self, results):
            self.calls.append("reduce")
            raise OSError("never")

    with eager():
        assert TwoLimits.push().state == State.FAILED
    assert TwoLimits.calls == ["chunk"] * 3 + ["reduce"] * 4


def test_what_cannot_be_stored_fails_at_once() -> None:
    class Wide(MapReduce):
        name = "tests.wide"
        maps = 0

        def map(self):
            Wide.maps += 1
            return [1, "x" * 2_000_000]

        def process(self, chunk):
            return chunk

    with eager(), pytest.raises(TaskFailed, match=r"The chunk 1 of tests\.wide came to 2000002 bytes"):
        Wide.push().result()
    assert Wide.maps == 1


def test_an_async_process_is_awaited_in_async_code_too() -> None:
    class Later(MapReduce):
        def map(self):
            return [1, 2]

        async def process(self, chunk):
            await asyncio.sleep(0)
            return chunk + 1

        def reduce(self, results):
            return sum(results)

    async def main() -> Any:
        with eager():
            return await (await Later.apush()).aresult()

    assert asyncio.run(main()) == 5
    assert Later.task() == 5


def test_a_stage_that_cancels_ends_as_it_would_with_a_worker() -> None:
    class GivesUp(MapReduce):
        on_chunk_failure = "drop"

        def map(self, stage):
            if stage == "map":
                current().cancel("enough")
            return [stage]

        def process(self, chunk):
            if chunk == "process":
                current().cancel("this one")
            return chunk

        def reduce(self, results):
            return [list(results), list(self.dropped)]

    with eager():
        with pytest.raises(TaskCancelled, match="enough"):
            GivesUp.push("map").result()
        assert GivesUp.push("process").result() == [[], [0]]


def test_falsy_data_and_results_stay_what_they_are() -> None:
    class Same(MapReduce):
        def map(self):
            return [0, "", False, None, [], {}]

        def process(self, chunk):
            return chunk

        def reduce(self, results):
            return list(results)

    with eager():
        assert repr(Same.push().result()) == repr([0, "", False, None, [], {}])
