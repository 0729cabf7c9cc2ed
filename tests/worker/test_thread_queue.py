"""The queue of a thread pool: each item is taken once, by the thread that rested last, and wakes no other thread."""

from __future__ import annotations

import ctypes
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from queueops.worker.execution.thread_queue import ThreadQueue
from tests.support.waiting import wait_until


class Late(Exception):
    """An error from outside, as that which ends a task."""


class Taker(threading.Thread):
    """A thread that takes items until it takes None."""

    def __init__(self, queue: ThreadQueue[Any], work: Callable[[Any], None] = lambda item: None) -> None:
        super().__init__(daemon=True)
        self.queue, self.work = queue, work
        self.taken: list[Any] = []
        self.late = 0
        self.start()

    def run(self) -> None:
        take = self.queue.taker()
        while True:
            try:
                item = take()
                if item is None:
                    return
                self.taken.append(item)
                self.work(item)
            except Late:
                self.late += 1


def resting(queue: ThreadQueue[Any], count: int) -> None:
    wait_until(lambda: len(queue._resting) == count)


def end(queue: ThreadQueue[Any], *threads: Taker) -> None:
    for _ in threads:
        queue.put(None)
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def test_the_thread_that_rested_last_takes_the_next_item_and_no_other_thread_wakes() -> None:
    queue: ThreadQueue[Any] = ThreadQueue()
    threads = []
    for number in range(3):
        threads.append(Taker(queue))
        resting(queue, number + 1)
    rests = queue._resting[:]
    for number in range(20):
        queue.put(number)
        wait_until(lambda: len(queue._resting) == 3)
        assert queue._resting == rests  # the two others still sleep where they did
    assert [thread.taken for thread in threads] == [[], [], list(range(20))]
    end(queue, *threads)


def test_each_item_is_taken_once_while_many_threads_put_and_take() -> None:
    queue: ThreadQueue[Any] = ThreadQueue()
    takers = [Taker(queue) for _ in range(8)]

    def put(first: int) -> None:
        for number in range(first, first + 2000):
            queue.put(number)

    putters = [threading.Thread(target=put, args=(start,)) for start in range(0, 8000, 2000)]
    for each in putters:
        each.start()
    for each in putters:
        each.join(60)
    wait_until(lambda: sum(len(taker.taken) for taker in takers) == 8000)
    end(queue, *takers)
    assert Counter(number for taker in takers for number in taker.taken) == Counter(range(8000))
    assert not queue.items


def test_items_keep_their_order() -> None:
    queue: ThreadQueue[Any] = ThreadQueue()
    for number in range(5):
        queue.put(number)
    assert queue.take_back() == 0
    taker = Taker(queue)
    resting(queue, 1)
    assert taker.taken == [1, 2, 3, 4]
    end(queue, taker)


def test_errors_from_outside_leave_no_thread_that_sleeps_beside_an_item() -> None:
    queue: ThreadQueue[Any] = ThreadQueue()
    taker, other = Taker(queue), Taker(queue)
    for number in range(200):
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(taker.ident or 0), ctypes.py_object(Late))
        queue.put(number)
    wait_until(lambda: len(taker.taken) + len(other.taken) >= 200 - taker.late)
    resting(queue, 2)
    assert not queue.items
    assert taker.late > 0
    end(queue, taker, other)
    assert queue._resting == []


def test_many_items_wake_the_threads_one_after_the_other() -> None:
    queue: ThreadQueue[Any] = ThreadQueue()
    gate = threading.Event()
    threads = [Taker(queue, lambda item: gate.wait(60) and None) for _ in range(4)]
    resting(queue, 4)
    for number in range(4):
        queue.put(number)
    wait_until(lambda: sum(len(thread.taken) for thread in threads) == 4)  # each woke the next one
    gate.set()
    resting(queue, 4)
    assert [len(thread.taken) for thread in threads] == [1, 1, 1, 1]
    end(queue, *threads)


class Switched(list[Any]):
    """The bells: a thread that begins to rest runs on when its bell was removed, and takes an item before it rings."""

    def __init__(self) -> None:
        super().__init__()
        self.is_on = False
        self.rests, self.removed, self.taken = threading.Event(), threading.Event(), threading.Event()

    def append(self, bell: Any) -> None:
        super().append(bell)
        if self.is_on:
            self.rests.set()
            self.removed.wait(60)

    def pop(self, *at: Any) -> Any:
        bell = super().pop(*at)
        if self.is_on:
            self.is_on = False
            self.removed.set()
            self.taken.wait(60)
        return bell


def test_a_thread_that_takes_its_item_before_its_bell_rings_keeps_no_other_thread_asleep() -> None:
    """It runs a long task, and the next item wakes another thread."""
    queue: ThreadQueue[Any] = ThreadQueue()
    queue._resting = bells = Switched()
    gate = threading.Event()
    other = Taker(queue)
    resting(queue, 1)
    bells.is_on = True
    long = Taker(queue, lambda item: bells.taken.set() or (gate.wait(60) and None))
    bells.rests.wait(60)
    queue.put("long")
    queue.put("short")
    wait_until(lambda: other.taken == ["short"])
    assert long.taken == ["long"]
    gate.set()
    end(queue, long, other)


class Between(list[Any]):
    """The bells: what another thread does before one is added or removed, and behind a look whether there is one."""

    def __init__(self) -> None:
        super().__init__()
        self.then: dict[str, Callable[[], object]] = {}

    def append(self, bell: Any) -> None:
        self._once("append")
        super().append(bell)

    def remove(self, bell: Any) -> None:
        self._once("remove")
        super().remove(bell)

    def __bool__(self) -> bool:
        found = len(self) > 0
        self._once("look")
        return found

    def _once(self, place: str) -> None:
        self.then.pop(place, lambda: None)()


def test_an_item_that_comes_while_a_thread_goes_to_rest_is_taken_and_keeps_no_other_thread_asleep() -> None:
    queue: ThreadQueue[Any] = ThreadQueue()
    queue._resting = bells = Between()
    other = Taker(queue)
    resting(queue, 1)
    gate = threading.Event()
    bells.then = {"append": lambda: queue.items.append("long"), "remove": queue._wake}  # the two steps of a producer
    long = Taker(queue, lambda item: gate.wait(60) and None)
    wait_until(lambda: long.taken == ["long"])
    queue.put("short")
    wait_until(lambda: other.taken == ["short"])
    gate.set()
    end(queue, long, other)


def test_a_bell_that_another_producer_takes_first_leaves_no_thread_asleep() -> None:
    queue: ThreadQueue[Any] = ThreadQueue()
    queue._resting = bells = Between()
    gate = threading.Event()
    taker = Taker(queue, lambda item: gate.wait(60) and None)
    resting(queue, 1)

    def ring_first() -> None:
        bells.pop().put(None)
        wait_until(lambda: taker.taken == [1])

    bells.then = {"look": ring_first}
    queue.put(1)
    gate.set()
    resting(queue, 1)
    queue.put(2)
    wait_until(lambda: taker.taken == [1, 2])
    end(queue, taker)
