"""What a producer does, from async code."""

from __future__ import annotations

import asyncio
import threading

import pytest
from asgiref.sync import sync_to_async
from django.core.exceptions import SynchronousOnlyOperation
from django.db import connections, transaction

import queueops
from queueops import BadArguments, QueueOpsError
from queueops.errors import BadOption
from queueops.kinds.composites.parts import Part
from queueops.redis.broker import get_broker
from queueops.tasks.pipelined_push import BATCH
from queueops.testing import run_worker
from tests.support import tasks_for_tests as tasks
from tests.support.tasks_for_tests import Letters, Sum


def test_async_code_asks_and_acts_without_blocking(namespace):
    async def main():
        handle = await tasks.add.using(delay=60).apush(1)
        states = [(await handle.astatus()).state]
        assert await handle.arun_now()
        states.append((await handle.astatus()).state)
        assert await handle.apostpone(60)
        states.append((await handle.astatus()).state)
        assert await handle.acancel("not needed", hard=True)
        states.append((await handle.astatus()).reason)
        assert await handle.aretry()
        assert not await handle.arun_now()
        found = await queueops.aget(handle.id)
        assert (found, await queueops.aget("nothing")) == (handle, None)
        return states

    assert asyncio.run(main()) == ["postponed", "pending", "postponed", "not needed"]


def test_async_twins_leave_the_event_loop_alone(namespace):
    """Each call of the store is made in another thread than that of the loop."""
    broker, threads = get_broker(), set()

    def noted(name):
        call = getattr(broker, name)
        return lambda *args, **kwargs: threads.add(threading.get_ident()) or call(*args, **kwargs)

    async def main(handle):
        await handle.astatus()
        await handle.acancel()
        await handle.aretry()
        await handle.arun_now()
        await handle.apostpone(1)
        await queueops.aget(handle.id)
        return threading.get_ident()

    handle = tasks.add.push(1)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("record", "control", "find"):
            patch.setattr(broker, name, noted(name))
        assert asyncio.run(main(handle)) not in threads
    assert threads


def test_waiting_on_the_event_loop_is_refused_with_what_to_write(namespace, monkeypatch):
    handle = tasks.add.push(1)

    async def main():
        return handle.result(timeout=0)

    message = r"Write \"await handle\.aresult\(timeout=\.\.\.\)\", or leave it to a thread with sync_to_async\(\)\."
    with pytest.raises(SynchronousOnlyOperation, match=message):
        asyncio.run(main())
    with pytest.raises(QueueOpsError):
        asyncio.run(main())
    run_worker()
    with pytest.raises(SynchronousOnlyOperation):
        asyncio.run(main())
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    assert asyncio.run(main()) == 2
    assert handle.result(timeout=0) == 2


def test_many_calls_are_pushed_from_async_code(namespace):
    handles = asyncio.run(tasks.add.apush_many([(1,), (2, 3)]))
    of_class = asyncio.run(Letters.apush_many([("a", "bc")]))
    run_worker()
    assert [handle.result(timeout=0) for handle in (*handles, *of_class)] == [2, 5, 3]
    with pytest.raises(BadArguments) as caught:
        asyncio.run(tasks.add.apush_many([(1,), ("x",)]))
    assert caught.value.__notes__[0] == "Call number 2 is wrong; the first is number 1."


@pytest.mark.parametrize("made", [Letters, Sum, Sum.using(tags=["x"]), Sum.s(1, 2, 3), tasks.add.s(1)])
def test_whatever_can_be_pushed_can_be_postponed_from_async_code(namespace, made):
    args = () if isinstance(made, Part) else (1, 2, 3) if made is not Letters else ("a",)
    handle = asyncio.run(made.apostpone(60, *args))
    assert handle.state in ("postponed", "waiting")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("made", [tasks.add, Letters])
def test_many_calls_wait_for_the_commit(namespace, made):
    calls = [("1",)] * 3 if made is Letters else [(n,) for n in range(BATCH + 1)]
    with transaction.atomic():
        handles = made.push_many_on_commit(iter(calls))
        assert len(handles) == len({handle.id for handle in handles}) == len(calls)
        assert handles[-1].status() is None
    assert {handle.state for handle in handles} == {"pending"}
    with transaction.atomic():
        (lost,) = made.push_many_on_commit(calls[:1])
        transaction.set_rollback(True)
    assert lost.status() is None
    assert made.push_many_on_commit([]) == []


def test_many_calls_for_the_commit_are_checked_at_once(namespace):
    with pytest.raises(BadArguments) as caught:
        tasks.add.push_many_on_commit([(1,), ("x",)])
    assert caught.value.__notes__ == ["Call number 2 is wrong; the first is number 1."]
    with pytest.raises(BadOption, match="left out of push_many"):
        tasks.add.using(id="x").push_many_on_commit([(1,)])


@pytest.mark.django_db(transaction=True)
def test_many_calls_wait_for_the_commit_in_async_code_too(namespace):
    async def push():
        handles = await tasks.add.apush_many_on_commit([(1,), (2,)])
        await sync_to_async(connections.close_all)()  # its thread is there for others
        return handles + await Letters.apush_many_on_commit([("a",)])

    handles = asyncio.run(push())
    assert [handle.state for handle in handles] == ["pending"] * 3
