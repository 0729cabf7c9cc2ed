"""Middlewares around each execution."""

from __future__ import annotations

import asyncio
import sys
import threading

import pytest

from queueops import RetryLater, current
from queueops.errors import Cancelled, OutsideTask
from queueops.model.contracts import Lease
from queueops.tasks import middleware
from queueops.tasks.context import Context
from queueops.tasks.handlers import handler_for
from tests.support.forked import status_of
from tests.support.middlewares_for_tests import seen

PLACE = "tests.support.middlewares_for_tests"


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
    settings.QUEUEOPS = {"MIDDLEWARE": [f"{PLACE}.{name}"]}
    assert run(func) == [threading.get_ident(), "x"] * 2


def test_the_first_is_the_outermost_and_all_are_built_once(settings):
    settings.QUEUEOPS = {"MIDDLEWARE": [f"{PLACE}.{name}" for name in ("Outer", "Unused", "Doubling")]}
    assert run(lambda: 2) == 4
    assert run(lambda: 3) == 6
    assert seen == ["built", "built", "outer x", "outer left", "outer x", "outer left"]


@pytest.mark.parametrize("inner", ["Inner", "AsyncInner"])
@pytest.mark.parametrize("func", [plain, later])
def test_the_first_of_two_is_entered_first_and_left_last(settings, func, inner):
    settings.QUEUEOPS = {"MIDDLEWARE": [f"{PLACE}.Outer", f"{PLACE}.{inner}"]}
    run(func)
    entered = [each for each in seen if each != "built"]
    assert entered == ["outer x", "inner x", "inner left", "outer left"]


@pytest.mark.parametrize("name", ["Outer", "AsyncDoubling"])
@pytest.mark.parametrize("is_async", [False, True])
def test_interrupts_pass_through(settings, name, is_async):
    settings.QUEUEOPS = {"MIDDLEWARE": [f"{PLACE}.{name}"]}

    def give_up():
        current().cancel("enough")

    async def give_up_later():
        current().cancel("enough")

    with pytest.raises(Cancelled, match="enough"):
        run(give_up_later if is_async else give_up)


@pytest.mark.parametrize("name", ["Outer", "AsyncDoubling"])
@pytest.mark.parametrize("is_async", [False, True])
def test_decisions_pass_through(settings, name, is_async):
    settings.QUEUEOPS = {"MIDDLEWARE": [f"{PLACE}.{name}"]}
    decision = RetryLater(60, "busy")

    def decide():
        raise decision

    async def decide_later():
        raise decision

    with pytest.raises(RetryLater) as caught:
        run(decide_later if is_async else decide)
    assert caught.value is decision


def test_outside_of_a_task_there_is_no_context():
    run(plain)
    with pytest.raises(OutsideTask, match=r"current\(\) works only inside a running task"):
        current()


class LockedStream:
    """A stream whose lock is never released."""

    def write(self, text):
        threading.Event().wait()

    def flush(self):
        threading.Event().wait()


@pytest.mark.parametrize(("error", "status"), [(None, 0), (ValueError("no number"), 1), (SystemExit(3), 3)])
def test_a_forked_process_ends_though_a_stream_is_locked_for_ever(monkeypatch, capfd, error, status):
    monkeypatch.setattr(middleware, "LAST_WORDS_S", 0.2)
    monkeypatch.setattr(sys, "stderr", LockedStream())
    assert status_of(lambda: ends(error)) == status
    told = capfd.readouterr().err
    assert ("ValueError: no number" in told) == (status == 1)


def ends(error):
    try:
        if error is not None:
            raise error
    finally:
        middleware._end_fork()
