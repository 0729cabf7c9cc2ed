"""Workflows in memory with long histories: they end at the limit, and are replayed now and then."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from queueops import activity, current, wf, workflow
from queueops.errors.workflows import HistoryTooLong, NotDeterministic
from queueops.testing import WorkflowEnvironment

pytestmark = pytest.mark.usefixtures("own_handlers")


@activity(name="wf.charge_late", retries=0)
def charge(order: str) -> str:
    """An activity that succeeds."""
    return f"receipt of {order}"


def test_a_history_without_end_stops_at_its_limit() -> None:
    @workflow(name="wf.endless")
    async def endless() -> None:
        while True:
            await wf.sleep(60)

    with pytest.raises(HistoryTooLong, match=r"10001 commands and signals; the limit is 10000\."):
        WorkflowEnvironment().run(endless)


def test_a_long_history_is_replayed_now_and_then() -> None:
    begun: list[int] = []

    @workflow(name="wf.long")
    async def long(rounds: int) -> int:
        begun.append(rounds)
        for _ in range(rounds):
            await wf.sleep(60)
        return rounds

    assert WorkflowEnvironment().run(long, 2_000) == 2_000
    assert 300 < len(begun) < 400  # for each of the first 333 steps, and for some of the later ones


def test_code_that_differs_late_in_a_long_run_is_found() -> None:
    begun: list[str] = []

    @workflow(name="wf.forgetful")
    async def forgetful() -> None:
        begun.append("once")
        if len(begun) > 336:  # in a replay after the first 1,000 entries
            await wf.sleep(1)
            await wf.sleep(1)
        for _ in range(1_000):
            await wf.sleep(60)
            await charge("7") if len(begun) > 336 else None

    with pytest.raises(NotDeterministic):
        WorkflowEnvironment().run(forgetful)


@activity(name="long.told", retries=1)
def told() -> tuple[str, int]:
    """Tells its progress, and fails once."""
    current().progress(1, 2)
    current().log("half")
    if current().attempt == 1:
        raise ValueError("once more")
    return current().id, current().attempt


@activity(name="long.atold", retries=0)
async def atold() -> int:
    """The same for async code, which is cancelled from inside."""
    if current().attempt == 1:
        raise asyncio.CancelledError("enough")
    return 1


@workflow(name="long.tells")
async def tells(is_async: bool = False) -> Any:
    """Calls what uses the context of its task."""
    return await wf.call(atold) if is_async else await wf.call(told)


def test_an_activity_has_the_context_of_its_task() -> None:
    run = WorkflowEnvironment().start(tells)
    assert run.result() == [f"{run.id}.1", 2]


def test_what_an_async_activity_raises_is_told() -> None:
    with pytest.raises(asyncio.CancelledError, match="enough"):
        WorkflowEnvironment().run(tells, is_async=True)
