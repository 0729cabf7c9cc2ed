"""The test environment in an async test, while another call of the test keeps the thread of `sync_to_async`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from asgiref.sync import async_to_sync, sync_to_async

from queueops import activity, wf, workflow
from queueops.errors.workflows import EventLoopBlocked
from queueops.kinds.workflows import awaited
from queueops.testing import WorkflowEnvironment

done: list[str] = []


@activity(name="loop.note", retries=3)
def note(what: str) -> str:
    """Notes that it ran."""
    done.append(what)
    return what


@workflow(name="loop.calls")
async def calls(what: str) -> str:
    """Calls an activity."""
    return await wf.call(note, what)


@workflow(name="loop.begins")
async def begins(what: str) -> str:
    """Runs a child."""
    return await wf.child(calls, what)


@pytest.fixture(autouse=True)
def _nothing_done(monkeypatch: pytest.MonkeyPatch) -> None:
    done.clear()
    monkeypatch.setattr(awaited, "BEGINS_WITHIN_S", 0.1)


async def beside(run: Callable[[], Awaitable[object]]) -> object:
    """Run something while a call in the thread of `sync_to_async` waits for the event loop."""

    async def answer() -> str:
        return "answer"

    other = asyncio.create_task(sync_to_async(async_to_sync(answer))())
    await asyncio.sleep(0)
    try:
        return await run()
    finally:
        assert await other == "answer"


@pytest.mark.parametrize("mocks", [False, True], ids=["activity", "child"])
def test_a_call_that_waits_for_the_blocked_loop_is_an_error(mocks: bool) -> None:
    env = WorkflowEnvironment()
    if mocks:
        env.mock(calls, done.append)

    async def run() -> object:
        return env.run(begins, "a")

    with pytest.raises(EventLoopBlocked, match=r"Use await sync_to_async\(env\.run\)"):
        asyncio.run(beside(run))
    assert done == []


def test_the_advice_of_the_error_works() -> None:
    async def run() -> object:
        return await sync_to_async(WorkflowEnvironment().run)(begins, "a")

    assert asyncio.run(beside(run)) == "a"
    assert done == ["a"]
