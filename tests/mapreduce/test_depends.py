"""What map, process and reduce depend on is given to them, and closed when that call has ended, however it ended."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any

import pytest

from queueops import Depends, MapReduce, TaskFailed
from queueops.errors import BadDependency
from queueops.testing import eager, run_worker

events: list[str] = []


def session() -> Iterator[str]:
    events.append("open")
    try:
        yield "session"
    finally:
        events.append("closed")


async def client() -> AsyncIterator[str]:
    events.append("open")
    yield "client"
    events.append("closed")


@pytest.fixture(autouse=True)
def forget() -> None:
    events.clear()


class Needy(MapReduce):
    """Each stage says what it was given."""

    retries = 0

    def map(self, fail="", session=Depends(session)):
        events.append(f"map {session}")
        yield fail
        events.append("mapped")

    def process(self, chunk, *, session: Annotated[str, Depends(session)]):
        events.append(f"process {session}")
        if chunk:
            raise ValueError(chunk)

    def reduce(self, results, session=Depends(session)):
        events.append(f"reduce {session}")
        return len(list(results))


ALL = [
    *("open", "map session", "mapped", "closed"),
    *("open", "process session", "closed"),
    *("open", "reduce session", "closed"),
]


def test_each_stage_is_given_what_it_depends_on_by_a_worker(namespace: str) -> None:
    handle = Needy.push()
    run_worker()
    assert (handle.result(), events) == (1, ALL)


def test_each_stage_is_given_what_it_depends_on_where_it_runs_at_once() -> None:
    with eager():
        assert Needy.push().result() == 1
    assert events == ALL
    events.clear()
    assert Needy.task() == 1
    assert sorted(events) == sorted(ALL)


def test_it_is_closed_when_a_stage_fails() -> None:
    with eager(), pytest.raises(TaskFailed, match="broken"):
        Needy.push("broken").result()
    assert events == ALL[:7]


def test_an_async_process_is_given_what_only_a_loop_can_open() -> None:
    class Later(MapReduce):
        def map(self):
            return [1]

        async def process(self, chunk, client=Depends(client)):
            return [chunk, client]

        def reduce(self, results):
            return list(results)

    with eager():
        assert Later.push().result() == [[1, "client"]]
    assert events == ["open", "closed"]


@pytest.mark.parametrize("method", ["map", "process", "reduce"])
def test_what_only_a_loop_can_open_is_refused_elsewhere(method: str) -> None:
    def waits(self, *args: Any, client: Any = Depends(client)) -> Any:
        return []

    stages = {"process": lambda self, chunk: chunk, method: waits}
    with pytest.raises(BadDependency, match='it is async, and only an "async def"'):
        type("Wrong", (MapReduce,), stages | {"name": f"tests.waits.{method}"}).push()
