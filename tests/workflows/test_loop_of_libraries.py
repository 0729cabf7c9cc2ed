"""Public libraries in the code of a workflow: its loop answers each method of asyncio's loops that they may ask for."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import httpx
import pytest

from queueops import activity, wf, workflow
from queueops.errors import TaskFailed
from queueops.kinds.workflows.replay.loop import WorkflowLoop
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.model.states import State
from queueops.redis.broker import get_role
from queueops.testing import WorkflowEnvironment, run_worker
from tests.support.for_each import for_each

METHODS = [name for name in vars(asyncio.AbstractEventLoop) if not name.startswith("_")]


@activity(name="libraries.double", retries=0)
def double(number: int) -> int:
    """An activity."""
    if number < 0:
        raise ValueError("negative")
    return 2 * number


@workflow(name="libraries.group")
async def group(numbers: list[int]) -> list[int]:
    """Calls activities in a task group of anyio."""
    found: dict[int, int] = {}

    async def call(number: int) -> None:
        found[number] = await wf.call(double, number)

    async with anyio.create_task_group() as tasks:
        for number in numbers:
            tasks.start_soon(call, number)
    return [found[number] for number in numbers]


@workflow(name="libraries.limited")
async def limited() -> list[Any]:
    """Uses a time limit, a cancel scope and an event of anyio."""
    with anyio.move_on_after(60) as scope:
        await wf.signal("never")
    event = anyio.Event()

    async def sets() -> None:
        await anyio.sleep(5)
        event.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(sets)
        await event.wait()
        tasks.start_soon(wf.sleep, 3600)
        tasks.cancel_scope.cancel()
    return [scope.cancelled_caught, event.is_set()]


@workflow(name="libraries.request")
async def request(url: str) -> int:
    """Makes a request in its code, which belongs into an activity."""
    async with httpx.AsyncClient() as client:
        return (await client.get(url)).status_code


@workflow(name="libraries.careful")
async def careful(url: str) -> str:
    """The same, and catches what it raises."""
    try:
        return str(await request.handler.func(url))
    except BaseException as error:
        return str(error)


@workflow(name="libraries.asks")
async def asks(method: str) -> str:
    """Asks its loop."""
    loop = asyncio.get_running_loop()
    given = {"set_debug": [False], "call_exception_handler": [{}], "default_exception_handler": [{}]}
    found = getattr(loop, method)(*given.get(method, []))
    return repr(await found if asyncio.iscoroutine(found) else found)


@for_each("name", METHODS)
def test_the_loop_has_an_answer_of_its_own_for_each_method_of_an_event_loop(name: str) -> None:
    assert getattr(WorkflowLoop, name) is not getattr(asyncio.AbstractEventLoop, name)


@for_each("name", METHODS)
def test_no_method_of_the_loop_fails_a_run_as_missing(name: str) -> None:
    answer = ""
    try:
        WorkflowEnvironment().run(asks, name)
    except Exception as error:  # a refusal, or wrong arguments
        answer = f"{type(error).__name__}: {error}"
    assert "NotImplementedError" not in answer


@pytest.mark.usefixtures("memory")
def test_a_task_group_of_anyio_works() -> None:
    run = group.start([3, 1, 2])
    run_worker()
    assert run.result(timeout=0) == [6, 2, 4]


@pytest.mark.usefixtures("memory")
def test_an_error_in_a_task_group_of_anyio_fails_the_run_with_that_error() -> None:
    run = group.start([3, -1, 2])
    run_worker()
    with pytest.raises(TaskFailed, match="unhandled errors in a TaskGroup"):
        run.result(timeout=0)


def test_time_limits_and_cancel_scopes_of_anyio_are_timers_of_the_run() -> None:
    env = WorkflowEnvironment()
    run = env.start(limited)
    assert run.result() == [True, True]
    assert [entry.kind for entry in run.history()].count("timer") == 2
    assert (env.now - WorkflowEnvironment().now).total_seconds() == 65


@pytest.mark.parametrize("code", [request, careful], ids=["raised", "caught"])
@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "http://example.invalid/"], ids=["address", "name"])
def test_a_request_of_httpx_blocks_the_run_with_advice(namespace: str, code: Any, url: str) -> None:
    run = code.start(url)
    run_worker()
    assert run.state == State.POSTPONED
    row = get_role(WorkflowCalls).run_row("default", run.id)
    assert row is not None
    assert row.fields["y"].startswith("A socket or a pipe cannot be used in the code of a workflow")
    assert row.fields["y"].endswith("Do it in an activity, and await wf.call(...).")
