"""A thread with nothing to do watches the wake-up lines while the loop sleeps."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from queueops import task
from queueops.redis.broker import get_broker
from queueops.redis.broker.exchange import RedisWaker
from queueops.tasks.context import current
from queueops.worker.execution.idle_listener import IdleListener
from queueops.worker.execution.thread_queue import ThreadQueue
from tests.support.rig import Rig
from tests.support.waiting import wait_until
from tests.worker.test_loop import Running

pytestmark = pytest.mark.usefixtures("namespace")


@task(name="tests.who-runs-it")
def who() -> int:
    return threading.get_ident()


@task(name="tests.waits-to-be-cancelled")
def wait_to_be_cancelled() -> str:
    wait_until(lambda: current().cancelled)
    return "it was told"


class Watched(Running):
    """A loop of one thread, and who acted on news at its listener."""

    def __init__(self) -> None:
        super().__init__(threads=1)
        self.heard: list[int] = []
        heed = self.loop._idle_listener.heed

        def noted(news: Any) -> None:
            self.heard.append(threading.get_ident())
            heed(news)

        self.loop._idle_listener.heed = noted

    def wait_for_the_watch(self) -> None:
        """Until its one thread is at the listener; it goes there when it has run something."""
        executor = self.loop._executor
        wait_until(lambda: executor._idle_listener is not None and not executor._posted)


@pytest.fixture
def watched() -> Iterator[Watched]:
    watched = Watched()
    who.push().result(60)
    watched.wait_for_the_watch()
    yield watched
    watched.end()


def test_what_is_handed_over_begins_in_the_thread_that_heard_of_it(watched):
    for _ in range(5):
        watched.wait_for_the_watch()
        watched.heard.clear()
        assert [who.push().result(60)] == watched.heard[:1]


def test_the_lease_of_what_it_runs_is_renewed_meanwhile(watched):
    handle = wait_to_be_cancelled.push()
    record = get_broker().keys("default").task(handle.id)
    wait_until(lambda: get_broker().client.hexists(record, "h") is False)
    assert handle.state == "locked"
    handle.cancel()
    assert handle.result(60) == "it was told"


def test_a_token_is_read_once_though_a_thread_takes_over_the_line_that_woke_the_loop(watched, monkeypatch):
    loop, readers = watched.loop, []
    read, select, is_calm = RedisWaker.read, loop._selector.select, loop._dispatcher.is_calm

    def noted(waker):
        readers.append(threading.get_ident())
        return read(waker)

    def late(timeout):
        sleeps.append(timeout)
        events = select(timeout)
        if not is_busy and loop._lines[0][0]._descriptor in [key.fd for key, _ in events]:
            is_busy.append(1)
            monkeypatch.setattr(loop._dispatcher, "is_calm", is_calm)
            with loop._executor.awake:
                loop._idle_listener.man(line for line, _ in loop._lines)
                loop._executor.post(loop._idle_listener)
            wait_until(lambda: watched.heard)
            turns[:] = ["late"]
        return events

    is_busy, turns, sleeps = [1], [], []
    watched.turn_in(lambda: turns.append(threading.get_ident()))
    monkeypatch.setattr(loop._dispatcher, "is_calm", lambda: False)  # the loop watches the lines itself
    who.push().result(60)
    watched.self_pipe.ring()
    wait_until(lambda: not loop._idle_listener._lines)
    loop._selector.select = late
    monkeypatch.setattr(RedisWaker, "read", noted)
    watched.self_pipe.ring()
    wait_until(lambda: sleeps)
    is_busy.clear()
    watched.heard.clear()
    assert who.push().result(60) == watched.heard[0]
    wait_until(lambda: turns[:1] == ["late"] and watched.thread.ident in turns)
    assert set(readers) == {watched.heard[0]}


def test_it_is_called_back_for_what_the_loop_itself_brings(watched):
    handle = who.postpone(0.05)
    assert handle.result(60) != watched.thread.ident


def test_it_hears_of_a_push_of_many(watched):
    handles = who.push_many([()] * 300)
    assert {handle.result(60) for handle in handles} == {handles[0].result(60)}
    watched.wait_for_the_watch()
    assert who.push().result(60)


def test_a_line_that_is_cut_while_it_is_watched_is_made_again(watched):
    client = get_broker().client

    def lines() -> list[str]:
        return [found["id"] for found in client.client_list() if found["cmd"] == "blpop"]

    for _ in range(3):
        watched.wait_for_the_watch()
        wait_until(lambda: len(lines()) == 1)
        (cut,) = lines()
        client.client_kill_filter(_id=cut)
        wait_until(lambda cut=cut: len(lines()) == 1 and cut not in lines())
        assert who.push().result(60)


def test_an_error_there_ends_the_process_as_one_of_the_loop_does(watched, monkeypatch):
    def break_down(*given: object) -> None:
        raise RuntimeError("a turn failed")

    monkeypatch.setattr(watched.loop._dispatcher, "take", break_down)
    handle = who.push()
    watched.thread.join(60)
    assert str(watched.error) == "a turn failed"
    assert handle.state in ("pending", "locked")


def test_the_end_calls_it_back(watched):
    watched.loop.stop("enough")
    watched.self_pipe.ring()
    watched.thread.join(60)
    assert not any(slot.thread.is_alive() for slot in watched.loop._executor._slots)


def test_an_operator_who_says_stop_is_heard_there(watched):
    client, keys = get_broker().client, get_broker().keys("default")
    client.lpush(f"{keys.prefix}:wake:w1", "stop")
    watched.thread.join(60)
    assert not watched.thread.is_alive()
    assert watched.heard


class Unhurried(ThreadQueue[Any]):
    """The thread that takes something from here is held up before it has noticed."""

    def __init__(self) -> None:
        super().__init__()
        self.noticed = threading.Event()
        self.noticed.set()

    def taker(self) -> Callable[[], Any]:
        take = super().taker()

        def late() -> Any:
            item = take()
            self.noticed.wait(60)
            return item

        return late


@pytest.fixture
def unhurried(make_rig) -> Iterator[tuple[Rig, Unhurried, IdleListener]]:
    """Two threads that rest."""
    rig: Rig = make_rig(2)
    rig.executor._queue = taken = Unhurried()
    begin = threading.Event()
    rig.submit(rig.task(lambda context: begin.wait(60)), 2)
    wait_until(lambda: len(list(rig.executor.running())) == 2)
    begin.set()
    rig.ends(2)
    wait_until(lambda: rig.executor._resting() == 2)
    listener = IdleListener(None, lambda events: [key.data() for key, _ in events] and None)  # type: ignore[arg-type]
    yield rig, taken, listener
    taken.noticed.set()
    rig.executor.close(60)
    listener.close()


def test_it_is_called_back_though_another_thread_does_not_know_yet_that_it_has_something_to_do(unhurried):
    rig, taken, listener = unhurried
    listener.man([])
    rig.executor.post(listener)
    wait_until(lambda: not rig.executor._posted)
    taken.noticed.clear()
    first, second = rig.task(lambda context: 1), rig.task(lambda context: 2)
    rig.submit(first)
    wait_until(lambda: not taken.items)
    rig.submit(second)
    wait_until(lambda: rig.executor._idle_listener is None)
    taken.noticed.set()
    assert len(rig.ends(4)) == 4


def test_nobody_is_sent_who_does_not_know_yet_that_it_has_something_to_do(unhurried):
    rig, taken, _ = unhurried
    taken.noticed.clear()
    rig.submit(rig.task(lambda context: 1), 2)
    wait_until(lambda: not taken.items)
    assert not rig.executor.has_rest()
    taken.noticed.set()
    rig.ends(4)
    wait_until(rig.executor.has_rest)


def test_what_was_not_started_is_taken_back_without_whoever_is_to_watch(make_rig):
    rig: Rig = make_rig(1)
    begin, listener = threading.Event(), IdleListener(None, lambda news: None)  # type: ignore[arg-type]
    leases = rig.submit(rig.task(lambda context: begin.wait(20)), 3)
    wait_until(lambda: rig.executor.queued() == 2)
    rig.executor.post(listener)
    assert rig.executor.queued() == 2
    assert rig.executor.take_back() == leases[1:]
    assert rig.executor.queued() == 0
    begin.set()
    wait_until(lambda: not rig.executor._posted)
    listener.manned = False
    listener.recall()
    rig.ends(1)
    wait_until(lambda: rig.executor.has_rest())
    listener.close()
