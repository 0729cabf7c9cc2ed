"""Dependencies of the process's scope: opened once in a worker process, shared, closed at its end."""

from __future__ import annotations

import asyncio
import logging
import threading
from contextlib import asynccontextmanager
from typing import Any

import pytest

from queueops import Depends, MapReduce, current, task
from queueops.errors import BadDependency, BadOption
from queueops.redis.broker import get_broker
from queueops.tasks import process_scope, registry
from queueops.testing import eager
from queueops.worker.loop.main_loop import Loop
from queueops.worker.options import WorkerOptions
from queueops.worker.self_pipe import SelfPipe
from queueops.worker.shared_slot_table import SlotTable
from tests.support.waiting import wait_until

events: list[str] = []


@pytest.fixture(autouse=True)
def no_events():
    events.clear()
    before = set(registry.handlers())
    yield
    for kind, name in set(registry.handlers()) - before:
        registry.unregister(kind, name)


def client():
    events.append("client open")
    yield object()
    events.append("client closed")


def pool_of(client: Any = Depends(client, scope="process")):
    events.append("pool open")
    yield (client,)
    events.append("pool closed")


@asynccontextmanager
async def session(pool: Any = Depends(pool_of, scope="process")):
    opened_by = asyncio.current_task()
    events.append("session open")
    yield pool
    assert asyncio.current_task() is opened_by
    events.append("session closed")


async def channel(session: Any = Depends(session, scope="process")):
    await asyncio.sleep(0)
    events.append("channel open")
    return session


class Worker:
    """The loop of a worker process in a thread, in a scope of its own."""

    def __enter__(self):
        self.table, self.bell = SlotTable(8), SelfPipe()
        self.loop = Loop(WorkerOptions(threads=4), "w1", get_broker(), self.table, self.bell)
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        return self

    def _run(self):
        with process_scope.opened():
            self.loop.run()

    def __exit__(self, *_: object):
        self.loop.stop("the test is over")
        self.bell.ring()
        self.thread.join(60)
        assert not self.thread.is_alive()
        self.bell.close()
        self.table.close()


def wait_for(handles):
    wait_until(lambda: all(handle.status().is_over for handle in handles))
    return [handle.result(timeout=0) for handle in handles]


def test_all_threads_of_a_worker_share_what_was_opened_once(namespace):
    together = threading.Barrier(4, timeout=60)

    @task(name="scope.sync")
    def use(pool=Depends(pool_of, scope="process"), client=Depends(client, scope="process")):
        together.wait()
        return [id(pool), pool[0] is client]

    with Worker():
        results = wait_for([use.push() for _ in range(8)])
        assert events == ["client open", "pool open"]
    assert len({number for number, _ in results}) == 1
    assert all(same for _, same in results)
    assert events == ["client open", "pool open", "pool closed", "client closed"]


def test_tasks_that_begin_while_it_is_opened_wait_for_it(namespace):
    is_open = threading.Event()

    def slow():
        events.append("open")
        assert is_open.wait(10)
        return object()

    @task(name="tests.process_scope.needs_slow")
    def needs_slow(it: Any = Depends(slow, scope="process")):
        return id(it)

    with Worker():
        handles = needs_slow.push_many([()] * 4)
        wait_until(lambda: events and all(handle.state == "locked" for handle in handles))
        is_open.set()
        assert len(set(wait_for(handles))) == 1
    assert events == ["open"]


def test_the_event_loop_shares_it_too_and_closes_its_own_first(namespace):
    @task(name="scope.sync")
    def use(pool=Depends(pool_of, scope="process")):
        return id(pool)

    @task(name="scope.later")
    async def use_later(channel=Depends(channel, scope="process"), pool=Depends(pool_of, scope="process")):
        return [id(channel), id(pool)]

    with Worker():
        found = wait_for([use_later.push() for _ in range(20)] + [use.push() for _ in range(4)])
        assert events == ["client open", "pool open", "session open", "channel open"]
    assert len({str(each) for each in found[:20]}) == 1
    assert {found[0][1], *found[0]} == set(found[20:])
    assert events[4:] == ["session closed", "pool closed", "client closed"]


def test_those_of_the_tasks_scope_may_need_it(namespace):
    def transaction(client=Depends(client, scope="process")):
        events.append("begin")
        yield client
        events.append("commit")

    @task(name="scope.mixed")
    def use(it=Depends(transaction)):
        return id(it)

    with Worker():
        assert len(set(wait_for([use.push()]) + wait_for([use.push()]))) == 1
    assert events == ["client open", "begin", "commit", "begin", "commit", "client closed"]


def test_the_steps_of_a_map_reduce_share_it(namespace):
    class Letters(MapReduce):
        """Counts letters."""

        def map(self, client=Depends(client, scope="process")):
            yield from "abc"

        async def process(self, chunk, client=Depends(client, scope="process")):
            return id(client)

        def reduce(self, results, client=Depends(client, scope="process")):
            return [*results, id(client)]

    with Worker():
        (found,) = wait_for([Letters.push()])
    assert len(found) == 4
    assert len(set(found)) == 1
    assert events == ["client open", "client closed"]


@pytest.mark.parametrize("is_async", [True, False])
def test_what_could_not_be_opened_is_tried_again_by_the_next_task(namespace, is_async):
    def broken():
        events.append("tried")
        if len(events) < 3:
            raise ConnectionError("not yet")
        return "open"

    async def broken_later():
        return broken()

    def plain(it=Depends(broken, scope="process")):
        return it

    async def later(it=Depends(broken_later, scope="process")):
        return it

    use = task(name="scope.broken", retries=0)(later if is_async else plain)
    with Worker():
        handles = [use.push()]
        wait_until(lambda: handles[0].status().is_over)
        handles.append(use.push())
        wait_until(lambda: handles[1].status().is_over)
        assert [handle.status().error for handle in handles] == ["not yet"] * 2
        assert wait_for([use.push(), use.push()]) == ["open"] * 2
    assert events == ["tried"] * 3


def test_it_belongs_to_no_task(namespace):
    def nosy():
        return current().id

    @task(name="scope.nosy", retries=0)
    def use(it=Depends(nosy, scope="process")):
        return it

    with Worker():
        handle = use.push()
        wait_until(lambda: handle.status().is_over)
    assert handle.status().error_type.endswith("OutsideTask")


@pytest.mark.parametrize("is_async", [True, False])
def test_an_error_at_its_end_is_logged_and_the_others_are_closed(namespace, caplog, is_async):
    def bad(client=Depends(client, scope="process")):
        yield
        raise RuntimeError("cannot close")

    async def bad_later(client=Depends(client, scope="process")):
        yield
        raise RuntimeError("cannot close")

    def plain(it=Depends(bad, scope="process")): ...

    async def later(it=Depends(bad_later, scope="process")): ...

    use = task(name="scope.bad")(later if is_async else plain)
    with Worker():
        wait_for([use.push()])
    assert events == ["client open", "client closed"]
    (logged,) = [record for record in caplog.records if "could not be closed" in record.getMessage()]
    assert (logged.levelno, str(logged.exc_info[1])) == (logging.ERROR, "cannot close")


@pytest.mark.parametrize("is_async", [True, False])
def test_closing_holds_up_the_end_of_a_process_for_a_limited_time(namespace, caplog, monkeypatch, is_async):
    monkeypatch.setattr(process_scope, "CLOSE_WITHIN", 0.05)
    release = threading.Event()

    def slow():
        yield
        release.wait(60)
        events.append("slow closed")

    async def slow_later():
        yield
        await asyncio.Event().wait()

    def plain(it=Depends(slow, scope="process")): ...

    async def later(it=Depends(slow_later, scope="process")): ...

    use = task(name="scope.slow")(later if is_async else plain)
    with Worker():
        wait_for([use.push()])
    assert "were not closed within 0.05 s" in caplog.text
    release.set()
    wait_until(lambda: "queueops-closing" not in [thread.name for thread in threading.enumerate()])


def test_outside_of_a_worker_each_call_has_its_own():
    @task(name="scope.call")
    def use(pool=Depends(pool_of, scope="process"), client=Depends(client, scope="process")):
        return pool[0] is client

    @task(name="scope.call_later")
    async def use_later(session=Depends(session, scope="process")):
        return len(session)

    each = ["client open", "pool open", "pool closed", "client closed"]
    assert use() is True
    with eager():
        assert use.push().result() is True
    assert events == each * 2
    events.clear()
    assert asyncio.run(use_later()) == 1
    assert events == [*each[:2], "session open", "session closed", *each[2:]]


def test_an_async_call_on_another_event_loop_of_the_process_has_its_own(namespace):
    @task(name="scope.other_loop")
    def use():
        return asyncio.run(call())

    async def call_it(session=Depends(session, scope="process")):
        return len(session)

    call = task(name="scope.called")(call_it)
    with Worker():
        assert wait_for([use.push()]) == [1]
        assert events[-3:] == ["session closed", "pool closed", "client closed"]


def test_a_scope_that_is_none_is_refused():
    with pytest.raises(BadOption, match=r'The option scope is \'worker\', but it must be "task" or "process"'):
        Depends(client, scope="worker")


def test_what_lives_longer_cannot_need_what_ends_before():
    def needs_task(client=Depends(client)): ...

    with pytest.raises(BadDependency, match="its parameter 'client' has the scope of a task, which ends before"):
        Depends(needs_task, scope="process")
