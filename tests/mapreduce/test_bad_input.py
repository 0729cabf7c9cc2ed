"""What a map-reduce class may get wrong: a clear error of ours, at once where it can be known, and nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest

from queueops import MapReduce, Retry, TaskFailed, control, inspect
from queueops.errors import BadOption, TooManyChunks
from queueops.kinds.mapreduce import chunk_writer
from queueops.model.states import State
from queueops.redis.broker import get_broker
from queueops.results.handle import TaskHandle
from queueops.tasks import registry
from queueops.testing import run_worker
from tests.kernel.desk import Desk

AT_ONCE = Retry(delay=0, jitter=0)
pytestmark = pytest.mark.usefixtures("namespace")


SOUND = {"process": lambda self, chunk: chunk}


class Given(MapReduce):
    """Its chunks are what it is given; each map is counted."""

    name = "tests.given"
    retry = AT_ONCE
    chunks: Any = ()
    maps = 0

    def map(self):
        type(self).maps += 1
        return self.chunks

    def process(self, chunk):
        return chunk

    def reduce(self, results):
        return list(results)


@pytest.fixture(autouse=True)
def given(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(Given, "maps", 0)
    return lambda chunks: monkeypatch.setattr(Given, "chunks", chunks)


def half_way() -> Any:
    yield from range(700)
    yield object()


def the_error(handle: TaskHandle[Any]) -> str:
    with pytest.raises(TaskFailed) as caught:
        handle.result()
    return str(caught.value)


@pytest.mark.parametrize(
    ("chunks", "text"),
    [
        ([1, object()], "NotEncodable: The chunk 1 of tests.given cannot be stored: it is an object"),
        ([{"at": float("nan")}], "The chunk 0 of tests.given cannot be stored: it['at'] is a float (nan)"),
        (half_way(), "The chunk 700 of tests.given cannot be stored"),
        (["x" * 2_000_000], "PayloadTooLarge: The chunk 0 of tests.given came to 2000002 bytes, the limit is 1048576"),
        (5, "BadChunks: tests.given.map() must yield or return its chunks, but it returned an int"),
        ("text", "but it returned a str"),
        (None, "but it returned nothing"),
        ({"a": 1}, "but it returned a dict"),
    ],
    ids=["object", "nan", "half way", "over-long", "number", "text", "nothing", "table"],
)
def test_chunks_that_cannot_be_stored_fail_the_map_at_once_with_the_number_of_the_first(
    given: Any, chunks: Any, text: str
) -> None:
    given(chunks)
    handle = Given.push()
    run_worker()
    assert text in the_error(handle)
    assert (Given.maps, handle.state) == (1, State.FAILED)
    given([1, 2])
    assert handle.retry()
    run_worker()
    assert handle.result() == [1, 2]
    assert handle.status().chunks["done"] == 2


def test_more_chunks_than_a_task_may_have_fail_the_map(given: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_writer, "MOST_CHUNKS", 3)
    given(range(4))
    handle = Given.push()
    run_worker()
    assert str(TooManyChunks(name="tests.given", limit=3)) in the_error(handle)


def test_an_error_of_the_application_in_the_map_is_tried_again_as_often_as_it_may() -> None:
    class Raises(MapReduce):
        retry = AT_ONCE
        retries = 2

        def map(self):
            Given.maps += 1
            yield 1
            raise TypeError("the database said no")

        def process(self, chunk):
            return chunk

    handle = Raises.push()
    run_worker()
    assert "the database said no" in the_error(handle)
    assert Given.maps == 3


def test_a_reduce_that_always_fails_ends_the_task_and_keeps_all_results() -> None:
    class NeverReduces(MapReduce):
        retries, retry = 2, AT_ONCE
        broken = True
        reduces = 0

        def map(self):
            return [1, 2, 3]

        def process(self, chunk):
            return chunk * 10

        def reduce(self, results):
            type(self).reduces += 1
            if self.broken:
                raise ValueError("no reduce")
            return list(results)

    handle = NeverReduces.push()
    run_worker()
    assert "ValueError: no reduce" in the_error(handle)
    assert (NeverReduces.reduces, handle.status().chunks["done"]) == (3, 3)
    NeverReduces.broken = False
    assert control.restart_from(handle.id, "reduce").word == "OK"
    run_worker()
    assert handle.result() == [10, 20, 30]
    assert NeverReduces.reduces == 4


def test_a_result_of_a_chunk_or_of_the_reduce_that_cannot_be_stored_fails_without_another_attempt() -> None:
    class Unstorable(MapReduce):
        retry = AT_ONCE

        def map(self, where):
            return [where]

        def process(self, chunk):
            Given.maps += 1
            return object() if chunk == "process" else chunk

        def reduce(self, results):
            return [*results, object()]

    process, reduce = Unstorable.push("process"), Unstorable.push("reduce")
    run_worker()
    assert "The result of" in the_error(process)
    assert process.status().chunks["failed"] == 1
    assert "The result of" in the_error(reduce)
    assert (reduce.status().chunks["done"], Given.maps) == (1, 2)


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("max_parallel", 0, "a whole number from 1 on, or None"),
        ("max_parallel", True, "a whole number from 1 on, or None"),
        ("chunks_per_worker", 0, "a whole number from 1 on, or None"),
        ("chunks_per_worker", "2", "a whole number from 1 on, or None"),
        ("chunk_retries", -1, "a whole number from 0 on, or None"),
        ("reduce_retries", 1.5, "a whole number from 0 on, or None"),
        ("chunk_timeout", 0, "more than 0 seconds, or None"),
        ("chunk_retry", 60, "a Retry, such as Retry(delay=60), or None"),
        ("on_chunk_failure", "ignore", '"fail", "drop", "drop:20" or "drop:5%"'),
        ("on_chunk_failure", "drop:-1", '"fail", "drop", "drop:20" or "drop:5%"'),
        ("on_chunk_failure", "drop:101%", '"fail", "drop", "drop:20" or "drop:5%"'),
        ("on_chunk_failure", None, '"fail", "drop", "drop:20" or "drop:5%"'),
        ("retries", -1, "a whole number from 0 to 1000000"),
        ("priority", 1000, "a whole number from -100 to 100"),
    ],
)
def test_an_option_that_cannot_be_is_refused_where_the_class_is_defined(option: str, value: Any, expected: str) -> None:
    with pytest.raises(BadOption) as caught:
        type("Wrong", (MapReduce,), SOUND | {option: value})
    assert option in str(caught.value)
    assert expected in str(caught.value)


async def found_later(self, *args):
    yield 1


def found(self, *args):
    yield 1


@pytest.mark.parametrize(
    ("method", "function", "text"),
    [
        ("process", found_later, """process is 'an async generator', but it must be a "def" or "async def" that"""),
        ("process", found, """process is 'a generator', but it must be a "def" or "async def" that returns"""),
        ("map", 5, """map is 5, but it must be a "def" or "async def" that yields or returns chunks"""),
        ("process", None, """process is None, but it must be a "def" or "async def" that returns"""),
        ("reduce", found_later, """reduce is 'an async generator', but it must be a "def" or "async def" that"""),
        ("reduce", found, """reduce is 'a generator', but it must be a "def" or "async def" that returns"""),
    ],
)
def test_a_method_of_the_wrong_sort_is_refused_where_the_class_is_defined(
    method: str, function: Any, text: str
) -> None:
    with pytest.raises(BadOption) as caught:
        type("Wrong", (MapReduce,), SOUND | {method: function})
    assert text in str(caught.value)


def test_a_class_without_process_is_refused_where_it_is_defined() -> None:
    text = r"The class shop\.none has no method process.*Write: def process\(self, chunk\)"
    with pytest.raises(BadOption, match=text):

        class Without(MapReduce):
            name = "shop.none"

            def map(self):
                return [1]

    assert registry.find("mapreduce", "shop.none") is None
    assert registry.find("chunk", "shop.none") is None

    class Base(MapReduce, abstract=True):
        def map(self):
            return [1]

    class With(Base):
        def process(self, chunk):
            return chunk

    class Inherits(With): ...

    assert Inherits.task() is None


def test_an_async_process_is_awaited() -> None:
    class Later(MapReduce):
        def map(self):
            return [1, 2]

        async def process(self, chunk):
            return chunk + 1

        def reduce(self, results):
            return sum(results)

    handle = Later.push()
    run_worker()
    assert handle.result() == 5


def test_the_edit_of_a_running_chunk_is_refused_and_says_why(given: Any) -> None:
    given([1, 2])
    handle = Given.push()
    run_worker(until_idle=False)
    desk = Desk(get_broker())
    lease = desk.lease()
    assert lease.id == f"{handle.id}#0"
    answer = control.edit_chunk(handle.id, 0, "other")
    assert (answer.changed, answer.refused) == (0, {0: "active"})
    assert list(control.reasons("edit", answer)) == [(0, "edit is not possible while chunk 0 is active")]
    assert control.edit_chunk(handle.id, 1, "edited").changed == 1
    desk.settle(lease, value=b"1")
    run_worker()
    assert handle.result() == [1, "edited"]


@pytest.mark.parametrize("data", [object(), "x" * 2_000_000, float("inf")], ids=["object", "over-long", "infinity"])
def test_an_edit_that_cannot_be_stored_is_refused_and_the_chunk_keeps_its_data(given: Any, data: Any) -> None:
    given([1])
    handle = Given.push()
    run_worker(until_idle=False)
    with pytest.raises((TypeError, ValueError), match=r"data of chunk 0 of tests\.given"):
        control.edit_chunk(handle.id, 0, data)
    assert inspect.chunk(handle.id, 0).data_json == "1"
