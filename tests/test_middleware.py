"""Middlewares around each execution."""

from __future__ import annotations

import asyncio
import threading

import pytest
from django.core.exceptions import MiddlewareNotUsed

from queueops import current, middleware
from queueops.context import Context
from queueops.contracts import Lease
from queueops.errors import Cancelled, OutsideTask
from queueops.kinds.function import handler_for

seen: list[str] = []


class Outer:
    """Writes down when it is entered and left."""

    def __init__(self, get_result):
        seen.append("built")
        self.get_result = get_result

    def __call__(self, run):
        seen.append(f"outer {run.id}")
        try:
            return self.get_result(run)
        finally:
            seen.append("outer left")


class Inner(Outer):
    """The same, with another name."""

    def __call__(self, run):
        seen.append(f"inner {run.id}")
        try:
            return self.get_result(run)
        finally:
            seen.append("inner left")


class AsyncInner:
    """The same on the loop."""

    def __init__(self, get_result):
        self.get_result = get_result

    async def __call__(self, run):
        seen.append(f"inner {run.id}")
        try:
            return await self.get_result(run)
        finally:
            seen.append("inner left")


class Doubling(Outer):
    """Replaces the result."""

    def __call__(self, run):
        return self.get_result(run) * 2


class AsyncDoubling:
    """The same on the loop."""

    def __init__(self, get_result):
        self.get_result = get_result

    async def __call__(self, run):
        return await self.get_result(run) * 2


class Unused:
    """Is not used."""

    def __init__(self, get_result):
        raise MiddlewareNotUsed


def run(func):
    handler = handler_for(func, "t", (Exception,))
    context = Context(Lease(id="x", fence=1, name="t"), handler, None)
    return asyncio.run(middleware.arun(context)) if handler.is_async else middleware.run(context)


def plain():
    return [threading.get_ident(), current().id]


async def later():
    await asyncio.sleep(0)
    return [threading.get_ident(), current().id]


@pytest.fixture(autouse=True)
def nothing_seen():
    seen.clear()


@pytest.mark.parametrize("func", [plain, later])
@pytest.mark.parametrize("name", ["Doubling", "AsyncDoubling"])
def test_sync_and_async_ones_serve_both_sorts_of_tasks_in_their_own_thread(settings, func, name):
    settings.QUEUEOPS = {"MIDDLEWARE": [f"{__name__}.{name}"]}
    assert run(func) == [threading.get_ident(), "x"] * 2


def test_the_first_is_the_outermost_and_all_are_built_once(settings):
    settings.QUEUEOPS = {"MIDDLEWARE": [f"{__name__}.{name}" for name in ("Outer", "Unused", "Doubling")]}
    assert run(lambda: 2) == 4
    assert run(lambda: 3) == 6
    assert seen == ["built", "built", "outer x", "outer left", "outer x", "outer left"]


@pytest.mark.parametrize("inner", ["Inner", "AsyncInner"])
@pytest.mark.parametrize("func", [plain, later])
def test_the_first_of_two_is_entered_first_and_left_last(settings, func, inner):
    settings.QUEUEOPS = {"MIDDLEWARE": [f"{__name__}.Outer", f"{__name__}.{inner}"]}
    run(func)
    entered = [each for each in seen if each != "built"]
    assert entered == ["outer x", "inner x", "inner left", "outer left"]


@pytest.mark.parametrize("name", ["Outer", "AsyncDoubling"])
@pytest.mark.parametrize("is_async", [False, True])
def test_interrupts_pass_through(settings, name, is_async):
    settings.QUEUEOPS = {"MIDDLEWARE": [f"{__name__}.{name}"]}

    def give_up():
        current().cancel("enough")

    async def give_up_later():
        current().cancel("enough")

    with pytest.raises(Cancelled, match="enough"):
        run(give_up_later if is_async else give_up)


def test_outside_of_a_task_there_is_no_context():
    run(plain)
    with pytest.raises(OutsideTask, match=r"current\(\) works only inside a task"):
        current()
