"""`async def` for map, process and reduce: in a worker, eagerly, and called directly, with dependencies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from queueops import Depends, MapReduce, Results, TaskFailed, current
from queueops.errors import BadDependency, BadOption
from queueops.kinds.mapreduce import chunk_writer
from queueops.redis.broker import get_broker
from queueops.testing import eager, run_worker

events: list[str] = []
faults: list[str] = []


@pytest.fixture(autouse=True)
def forget() -> None:
    """Nothing has happened yet."""
    events.clear()
    faults.clear()


async def client() -> AsyncIterator[str]:
    """Something that only a loop can open."""
    events.append("open")
    yield "client"
    events.append("closed")


class Squares(MapReduce):
    """All stages are async; map is a generator."""

    retries = 1

    async def map(self, n: int, client: str = Depends(client)) -> AsyncIterator[int]:
        """The numbers below n."""
        try:
            for number in range(n):
                await asyncio.sleep(0)
                if faults and number == n // 2:
                    raise ValueError(faults.pop())
                yield number
        finally:
            events.append(f"mapped with {client}")

    async def process(self, chunk: int, client: str = Depends(client)) -> int:
        """The square."""
        await asyncio.sleep(0)
        return chunk * chunk

    async def reduce(self, results: Results, client: str = Depends(client)) -> list[int]:
        """All of them, read in both ways."""
        found = [result async for result in results]
        assert found == list(results)
        assert len(results) == len(found)
        events.append(f"reduced with {client}")
        return found


class Listed(MapReduce):
    """Only map is async, and answers a list."""

    async def map(self, chunks: Any) -> Any:
        """What it was given."""
        await asyncio.sleep(0)
        return (
            {"none": None, "text": "ab", "table": {"a": 1}}.get(chunks, chunks) if isinstance(chunks, str) else chunks
        )

    def process(self, chunk: Any) -> Any:
        """The chunk as it is."""
        return chunk

    def reduce(self, results: Results) -> list[Any]:
        """All of them."""
        return list(results)


class Summed(MapReduce):
    """Only reduce is async."""

    def map(self, n: int) -> Iterator[int]:
        """The numbers below n."""
        yield from range(n)

    def process(self, chunk: Any) -> Any:
        """The chunk as it is."""
        return chunk

    async def reduce(self, results: Results) -> int:
        """Their sum."""
        total = 0
        async for result in results:
            total += result
        return total


def by_worker(cls: type[MapReduce], *args: Any) -> Any:
    """Push it, and run a worker."""
    handle = cls.push(*args)
    run_worker()
    return handle.result(timeout=5)


def at_once(cls: type[MapReduce], *args: Any) -> Any:
    """Push it eagerly."""
    with eager():
        return cls.push(*args).result()


def called(cls: type[MapReduce], *args: Any) -> Any:
    """Call it here and now."""
    return cls.task(*args)


@pytest.mark.usefixtures("namespace")
@pytest.mark.parametrize("run", [by_worker, at_once, called])
@pytest.mark.parametrize(
    ("cls", "args", "result"),
    [
        (Squares, (4,), [0, 1, 4, 9]),
        (Squares, (0,), []),
        (Listed, ([1, None, "x"],), [1, None, "x"]),
        (Summed, (5,), 10),
    ],
)
def test_async_stages_do_what_plain_ones_do(
    run: Callable[..., Any], cls: type[MapReduce], args: tuple[Any, ...], result: Any
) -> None:
    assert run(cls, *args) == result


@pytest.mark.usefixtures("namespace")
@pytest.mark.parametrize("run", [by_worker, at_once])
def test_each_async_stage_has_its_dependencies_and_closes_them(run: Callable[..., Any]) -> None:
    run(Squares, 1)
    assert events == [
        *("open", "mapped with client", "closed"),
        *("open", "closed"),
        *("open", "reduced with client", "closed"),
    ]


def test_eager_works_in_async_code() -> None:
    async def main() -> Any:
        with eager():
            return await (await Squares.apush(3)).aresult()

    assert asyncio.run(main()) == [0, 1, 4]


@pytest.mark.usefixtures("namespace")
def test_an_async_map_that_runs_again_goes_on_behind_the_chunks_that_it_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_writer, "BATCH_CHUNKS", 2)
    faults.append("broken")
    handle = Squares.push(8)
    run_worker()
    assert handle.run_now()
    run_worker()
    assert handle.result(timeout=5) == [number * number for number in range(8)]
    broker = get_broker()
    lines = [json.loads(line) for line in broker.client.lrange(broker.keys("default").log(handle.id), 0, -1)]
    said = [line["text"] for line in lines if line["k"] == "log"]
    assert said == ["an earlier attempt wrote the first 4 chunks: the map continues after them"]


@pytest.mark.usefixtures("namespace")
@pytest.mark.parametrize("run", [by_worker, at_once])
@pytest.mark.parametrize(("chunks", "kind"), [("none", "nothing"), ("text", "str"), ("table", "dict")])
def test_what_an_async_map_must_not_answer_fails_it_at_once(run: Callable[..., Any], chunks: str, kind: str) -> None:
    with pytest.raises(TaskFailed, match=kind):
        run(Listed, chunks)


class Stopping(MapReduce):
    """Cancels itself in the stage that it is told."""

    async def map(self, stage: str) -> AsyncIterator[str]:
        """One chunk."""
        if stage == "map":
            current().cancel("enough")
        yield stage

    def process(self, chunk: Any) -> Any:
        """The chunk as it is."""
        return chunk

    async def reduce(self, results: Results) -> None:
        """Nothing."""
        if [result async for result in results] == ["reduce"]:
            current().cancel("enough")


@pytest.mark.usefixtures("namespace")
@pytest.mark.parametrize("stage", ["map", "reduce"])
def test_an_async_stage_may_cancel_its_task(stage: str) -> None:
    handle = Stopping.push(stage)
    run_worker()
    assert (handle.state, handle.status().reason) == ("cancelled", "enough")


@pytest.mark.parametrize("method", ["process", "reduce"])
def test_a_stage_that_gives_a_result_is_no_generator(method: str) -> None:
    async def yields(self: Any, *args: Any) -> AsyncIterator[int]:
        yield 1

    with pytest.raises(BadOption, match="an async generator"):
        type("Wrong", (MapReduce,), {"process": lambda self, chunk: chunk, method: yields})


@pytest.mark.parametrize("method", ["map", "process", "reduce"])
def test_what_only_a_loop_can_open_is_refused_by_each_plain_stage_alone(method: str) -> None:
    def plain(self: Any, *args: Any, client: Any = Depends(client)) -> Any:
        return []

    async def waits(self: Any, *args: Any, client: Any = Depends(client)) -> Any:
        return []

    stages = {name: plain if name == method else waits for name in ("map", "process", "reduce")}
    with pytest.raises(BadDependency, match='it is async, and only an "async def"'):
        type("Wrong", (MapReduce,), stages | {"name": f"tests.async.{method}"}).push()
