"""`async def iterate`: in a worker and eagerly, with dependencies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from queueops import Batch, Depends, Iterator, TaskFailed, chain
from queueops.errors import BadDependency, BadOption
from queueops.testing import eager, run_worker
from tests.composites.work import note, seen, tell

pytestmark = pytest.mark.usefixtures("namespace")
events: list[str] = []


@pytest.fixture(autouse=True)
def forget() -> None:
    """Nothing has happened yet."""
    events.clear()


async def client() -> AsyncIterator[str]:
    """Something that only a loop can open."""
    events.append("open")
    yield "client"
    events.append("closed")


def session() -> Any:
    """A sync dependency."""
    events.append("open")
    yield "session"
    events.append("closed")


class Later(Iterator):
    """Tasks for the numbers below n, two in a batch."""

    window, retries = 3, 1

    async def iterate(
        self, state: int | None, n: int, *, fail: bool = False, client: str = Depends(client)
    ) -> Batch | None:
        """Two more."""
        await asyncio.sleep(0)
        events.append(client)
        first = state or 0
        if fail:
            raise ValueError("broken")
        if first >= n:
            return None
        return Batch(state=first + 2, tasks=[note.s(number) for number in range(first, min(n, first + 2))])


class Plain(Iterator):
    """A plain one with a dependency."""

    def iterate(self, state: int | None, session: str = Depends(session)) -> Batch | None:
        """One task that tells what it was given."""
        return None if state else Batch(1, [tell.s(session)])


def by_worker(part: Any) -> Any:
    """Push it, and run a worker."""
    handle = part.push()
    run_worker()
    return handle


def at_once(part: Any) -> Any:
    """Push it eagerly."""
    return part.push()


@pytest.fixture(params=["by a worker", "eagerly"])
def run(request: pytest.FixtureRequest) -> Any:
    """How it runs."""
    if request.param == "by a worker":
        yield by_worker
    else:
        with eager():
            yield at_once


def test_an_async_iterate_emits_its_tasks_and_ends(run: Callable[[Any], Any]) -> None:
    handle = run(Later.s(5))
    assert handle.result(timeout=5) is None
    assert sorted(seen) == [0, 1, 2, 3, 4]
    assert (handle.progress.done, handle.progress.total) == (5, 5)
    assert events == ["open", "client", "closed"] * 4


def test_it_is_part_of_a_chain_and_takes_the_result_before_it(run: Callable[[Any], Any]) -> None:
    assert run(chain(tell.s(3), Later.s(), tell.si("end"))).result(timeout=5) == "end"
    assert sorted(seen) == [0, 1, 2]


def test_it_fails_as_any_other(run: Callable[[Any], Any]) -> None:
    handle = run(Later.using(retries=0).s(5, fail=True))
    with pytest.raises(TaskFailed, match="broken"):
        handle.result(timeout=5)


def test_a_plain_iterate_has_its_dependencies(run: Callable[[Any], Any]) -> None:
    assert run(Plain.s()).state == "succeeded"
    assert events == ["open", "closed"] * 2


def test_what_only_a_loop_can_open_is_refused_by_a_plain_iterate() -> None:
    class Wrong(Iterator):
        name = "tests.async.iterator.wrong"

        def iterate(self, state: Any, client: Any = Depends(client)) -> None:
            """Nothing."""

    with pytest.raises(BadDependency, match='it is async, and only an "async def"'):
        Wrong.push()


def test_an_iterate_that_is_a_generator_is_refused_where_it_stands() -> None:
    async def yields(self: Any, state: Any) -> AsyncIterator[int]:
        yield 1

    def yields_at_once(self: Any, state: Any) -> Any:
        yield 1

    for iterate in (yields, yields_at_once):
        with pytest.raises(BadOption, match='"def" or "async def" that returns a Batch'):
            type("Broken", (Iterator,), {"iterate": iterate, "__module__": __name__})
