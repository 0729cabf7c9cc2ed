"""Async twins of handles of runs, and the primitives of asyncio that a workflow may use."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from queueops import activity, wf, workflow
from queueops.errors import TaskCancelled, TaskFailed
from queueops.errors.workflows import RefusedInWorkflow
from queueops.kinds.workflows.handle import WorkflowHandle
from queueops.model.states import State
from queueops.testing import WorkflowEnvironment, run_worker

pytestmark = pytest.mark.usefixtures("memory")
broken: list[Exception] = []


@activity(name="twins.number", retries=0)
def number(of: int) -> int:
    """An activity."""
    if broken:
        raise broken[0]
    return of


@workflow(name="twins.waits")
async def waits() -> Any:
    """Waits for a signal, and shows a status."""
    wf.set_status({"waits": True})
    found = await wf.signal("go")
    return await wf.call(number, found)


def act(call: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Run async code as a view would, then a worker."""
    found = asyncio.run(call())
    run_worker()
    return found


def test_each_action_of_a_handle_has_a_twin() -> None:
    run: WorkflowHandle[Any] = act(lambda: waits.using(id="one").astart())
    assert act(run.acustom_status) == {"waits": True}
    assert act(run.asuspend) is True
    act(lambda: run.asignal("go", 7))
    assert run.state == State.IDLE
    again = act(lambda: run.areset(1, "wrong turn"))
    assert act(lambda: again.aresult(timeout=0)) == act(lambda: run.aresult(timeout=0)) == 7
    assert [entry.kind for entry in act(again.ahistory)][-1] == "end"
    assert act(again.aresume) is False


def test_twins_that_end_a_run() -> None:
    one, two = waits.start(), waits.start()
    run_worker()
    assert act(lambda: one.acancel("enough")) is True
    assert act(lambda: two.aterminate("wrong order")) is True
    with pytest.raises(TaskCancelled, match="wrong order"):
        act(lambda: two.aresult(timeout=0))
    assert one.state == State.CANCELLED


def test_twins_that_go_on_with_a_run() -> None:
    run = waits.using(delay=3600).start()
    assert act(run.arun_now) is True
    broken.append(ValueError("no stock"))
    act(lambda: run.asignal("go", 7))
    with pytest.raises(TaskFailed, match="no stock"):
        act(lambda: run.aresult(timeout=0))
    broken.clear()
    assert act(run.aretry) is True
    assert run.result(timeout=0) == 7
    suspended = waits.start()
    act(suspended.asuspend)
    assert act(suspended.aresume) is True


async def _wait_for() -> list[Any]:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(wf.signal("never"), 60)
    return [await asyncio.wait_for(wf.call(number, 1), 60)]


async def _as_completed() -> list[Any]:
    async def after(delay: int) -> int:
        await wf.sleep(delay)
        return await wf.call(number, delay)

    return [await each for each in asyncio.as_completed([asyncio.ensure_future(after(each)) for each in (30, 10, 20)])]


async def _shield() -> list[Any]:
    inner = asyncio.ensure_future(wf.call(number, 4))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await asyncio.shield(inner)
    return [await inner]


async def _lock() -> list[Any]:
    lock, seen = asyncio.Lock(), []

    async def holds(name: int) -> None:
        async with lock:
            seen.append(name)
            await wf.call(number, name)
            seen.append(name)

    await asyncio.gather(*(holds(name) for name in (1, 2, 3)))
    return seen


async def _semaphore() -> list[Any]:
    semaphore, most, inside = asyncio.Semaphore(2), [0], [0]

    async def holds(name: int) -> int:
        async with semaphore:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            found = await wf.call(number, name)
            inside[0] -= 1
            return found

    return [*await asyncio.gather(*(holds(name) for name in range(5))), most[0]]


async def _condition() -> list[Any]:
    condition, ready = asyncio.Condition(), []

    async def waits_for() -> int:
        async with condition:
            await condition.wait_for(lambda: len(ready) == 2)
            return len(ready)

    async def brings(name: int) -> None:
        found = await wf.call(number, name)
        async with condition:
            ready.append(found)
            condition.notify_all()

    return [*await asyncio.gather(waits_for(), brings(1), brings(2))]


CODES: dict[str, tuple[Callable[[], Coroutine[Any, Any, list[Any]]], list[Any]]] = {
    "wait_for": (_wait_for, [1]),
    "as_completed": (_as_completed, [10, 20, 30]),
    "shield": (_shield, [4]),
    "lock": (_lock, [1, 1, 2, 2, 3, 3]),
    "semaphore": (_semaphore, [0, 1, 2, 3, 4, 2]),
    "condition": (_condition, [2, None, None]),
}


@workflow(name="twins.primitive")
async def primitive(name: str) -> list[Any]:
    """Uses one primitive of asyncio."""
    return await CODES[name][0]()


async def _unordered() -> list[Any]:
    codes = [wf.call(number, 1), wf.call(number, 2)]
    try:
        return [await each for each in asyncio.as_completed(codes)]
    finally:
        for code in codes:
            code.close()


def test_coroutines_in_an_order_that_does_not_repeat_are_refused() -> None:
    CODES["unordered"] = (_unordered, [])
    try:
        with pytest.raises(RefusedInWorkflow, match=r"as_completed\(\) with coroutines.*Give it tasks"):
            WorkflowEnvironment().run(primitive, "unordered")
    finally:
        del CODES["unordered"]


@pytest.mark.parametrize("name", sorted(CODES))
def test_a_primitive_of_asyncio_works_and_repeats_itself(name: str) -> None:
    assert WorkflowEnvironment().run(primitive, name) == CODES[name][1]
