"""What tasks and what belongs to them may do to the threads and the loop that run them: nothing that lasts."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError, connection, connections
from django.utils import translation

from queueops.errors import SoftTimeout
from queueops.model.contracts import Lease, Outcome
from queueops.signals import task_failed, task_succeeded
from queueops.tasks import registry
from queueops.tasks.context import Context
from queueops.worker.execution import db_connections
from queueops.worker.execution.slot import Slot
from tests.support.rig import Rig, answer
from tests.support.waiting import wait_until


def test_a_task_whose_code_cannot_be_loaded_waits_and_stops_nobody(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> None:
        raise SyntaxError("invalid syntax (emails.py, line 3)")

    monkeypatch.setitem(registry._resolvers, "lazy", broken)
    rig.executor.submit([Lease(id="t", fence=1, name="shop.emails.send", kind="lazy")])
    (end,) = rig.ends()
    assert end.outcome is Outcome.UNKNOWN
    assert b"'shop.emails.send' cannot be loaded: SyntaxError: invalid syntax (emails.py, line 3)" in end.value


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_cannot_be_closed_costs_neither_the_outcome_nor_the_thread(
    make_rig: Callable[[int], Rig], monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = make_rig(1)

    def close() -> None:
        connections.close_all()
        raise OperationalError("the server has gone away")

    async def query(context: Context) -> int:
        return await sync_to_async(counted)(context)

    def counted(context: Context) -> int:
        connection.ensure_connection()
        return 7

    monkeypatch.setattr(db_connections, "close_old_connections", close)
    for function in (counted, counted, query, query):
        rig.submit(rig.task(function))
    assert [end.value for end in rig.ends(4)] == [b"7"] * 4


@pytest.mark.django_db(transaction=True)
def test_an_async_task_that_cancels_itself_with_its_last_line_has_returned(rig: Rig) -> None:
    def touch() -> None:
        connection.ensure_connection()

    async def cancel(context: Context) -> int:
        await sync_to_async(touch)()
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return 7

    assert rig.run(cancel).value == b"7"


def test_what_an_async_task_began_beside_itself_cannot_end_the_loop_of_all(rig: Rig) -> None:
    over = threading.Event()

    async def leave() -> None:
        raise SystemExit(3)

    async def begin(context: Context) -> str:
        beside = asyncio.ensure_future(leave())
        await asyncio.wait([beside])
        left = isinstance(beside.exception(), SystemExit)
        over.set()
        return "survived" if left else "never began"

    async def neighbour(context: Context) -> str:
        while not over.is_set():
            await asyncio.sleep(0.001)
        return "here"

    for count, function in enumerate((neighbour, begin, answer), 1):
        rig.submit(rig.task(function))
        if count > 1:
            rig.ends(count)
    assert [end.value for end in rig.ends(3)] == [b'"here"', b'"survived"', b"42"]


@pytest.mark.parametrize("function", [lambda context: 42, answer])
def test_a_receiver_that_would_end_its_thread_costs_no_outcome(
    make_rig: Callable[[int], Rig], function: Callable[[Context], Any]
) -> None:
    rig = make_rig(1)

    def leave(sender: Any, **_: Any) -> None:
        raise SystemExit(3)

    task_succeeded.connect(leave)
    try:
        rig.submit(rig.task(function), 3)
        assert [end.value for end in rig.ends(3)] == [b"42"] * 3
    finally:
        task_succeeded.disconnect(leave)


def test_an_interrupt_that_meets_the_very_end_leaves_no_task_that_seems_to_run(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(slot: Slot) -> None:
        raise SoftTimeout(seconds=1)

    monkeypatch.setattr(Slot, "close", interrupted)
    assert rig.run(lambda context: 7).value == b"7"
    assert list(rig.executor.running()) == []


async def sleep(context: Context) -> None:
    await asyncio.sleep(60)


def look(context: Context) -> None:
    while not context.cancelled:
        time.sleep(0.001)
    context.cancel()


@pytest.mark.parametrize("function", [sleep, look])
@pytest.mark.parametrize(("lost", "outcome"), [(True, Outcome.RELEASE), (False, Outcome.CANCEL)])
def test_a_task_whose_lease_may_be_lost_is_not_cancelled_but_given_back(
    rig: Rig, function: Callable[[Context], Any], lost: bool, outcome: Outcome
) -> None:
    (lease,) = rig.submit(rig.task(function))
    wait_until(lambda: rig.executor.slot_of(lease))
    rig.executor.cancel(lease, "enough", lost=lost)
    (end,) = rig.ends()
    assert (end.outcome, end.value) == (outcome, b"enough")


def test_what_async_tasks_run_in_threads_runs_beside_each_other(rig: Rig) -> None:
    meeting = threading.Barrier(2)

    async def meet(context: Context) -> bool:
        return await sync_to_async(meeting.wait)(60) >= 0

    rig.submit(rig.task(meet), 2)
    assert [end.value for end in rig.ends(2)] == [b"true", b"true"]


@pytest.mark.django_db(transaction=True)
def test_an_async_task_does_not_end_behind_what_another_one_runs_in_its_thread(rig: Rig) -> None:
    begun, release = threading.Event(), threading.Event()

    def hold() -> None:
        connection.ensure_connection()
        begun.set()
        release.wait(100)

    async def slow(context: Context) -> None:
        await sync_to_async(hold)()

    rig.submit(rig.task(slow))
    try:
        assert begun.wait(60)
        rig.submit(rig.task(answer))
        assert [end.value for end in rig.ends()] == [b"42"]
    finally:
        release.set()
    rig.ends(2)


def test_what_an_interrupted_async_task_left_in_its_thread_holds_up_no_other(make_rig: Callable[[int], Rig]) -> None:
    rig, release = make_rig(1), threading.Event()

    async def slow(context: Context) -> None:
        await sync_to_async(release.wait)(100)

    async def quick(context: Context) -> int:
        return await sync_to_async(lambda: 7)()

    try:
        (lease,) = rig.submit(rig.task(slow))
        wait_until(lambda: rig.executor.slot_of(lease))
        rig.executor.cancel(lease, "enough")
        rig.ends(1)
        rig.submit(rig.task(quick))
        assert rig.ends(2)[1].value == b"7"
    finally:
        release.set()


def test_receivers_of_signals_do_not_wait_for_what_an_interrupted_async_task_left_in_its_thread(rig: Rig) -> None:
    release, told = threading.Event(), threading.Event()

    async def slow(context: Context) -> None:
        await sync_to_async(release.wait)(100)

    def hear(**facts: Any) -> None:
        told.set()

    task_failed.connect(hear)
    try:
        (lease,) = rig.submit(rig.task(slow), timeout_ms=50)
        wait_until(lambda: rig.executor.slot_of(lease))
        assert rig.executor.interrupt(lease, SoftTimeout)
        assert rig.ends()[0].outcome is Outcome.TIMEOUT
        assert told.is_set()
    finally:
        task_failed.disconnect(hear)
        release.set()


def test_what_an_async_task_gave_up_waiting_for_in_its_thread_keeps_no_slot(make_rig: Callable[[int], Rig]) -> None:
    rig, release = make_rig(1), threading.Event()

    async def impatient(context: Context) -> str:
        try:
            await asyncio.wait_for(sync_to_async(release.wait)(100), 0.01)
        except TimeoutError:
            return "gave up"
        return "waited"

    async def quick(context: Context) -> int:
        return await sync_to_async(lambda: 7)()

    try:
        assert rig.run(impatient).value == b'"gave up"'
        rig.submit(rig.task(quick))
        assert rig.ends(2)[1].value == b"7"
    finally:
        release.set()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("uses_its_thread", [False, True])
def test_what_an_async_task_sets_is_not_seen_by_the_next_one(
    make_rig: Callable[[int], Rig], uses_its_thread: bool
) -> None:
    rig = make_rig(1)

    def touch() -> None:
        connection.ensure_connection()  # of this thread

    async def speak(context: Context) -> str | None:
        found = translation.get_language()
        translation.activate("de")
        if uses_its_thread:
            await sync_to_async(touch)()
        return found

    rig.submit(rig.task(speak), 3)
    first, *others = [end.value for end in rig.ends(3)]
    assert others == [first, first]
    assert first != b'"de"'


@pytest.mark.django_db(transaction=True)
def test_database_connections_of_async_tasks_are_closed_after_each(make_rig: Callable[[int], Rig]) -> None:
    rig = make_rig(1)

    def was_open() -> bool:
        found = connection.connection is not None
        connection.ensure_connection()
        return found

    async def query(context: Context) -> list[bool]:
        return [await sync_to_async(was_open)(), await sync_to_async(was_open)()]

    rig.submit(rig.task(query), 3)
    assert [end.value for end in rig.ends(3)] == [b"[false,true]"] * 3
