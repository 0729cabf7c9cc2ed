"""The signal `worker_idle`: sent each time a worker process has nothing left to do."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import queueops
from queueops import MapReduce, task
from queueops.redis.broker import get_broker
from queueops.signals import worker_idle
from queueops.testing import run_worker
from tests.support.waiting import wait_until
from tests.worker.test_loop import Running

pytestmark = pytest.mark.usefixtures("namespace")

gate = threading.Event()


class Listed(MapReduce):
    """Gives its chunks as a list."""

    name = "tests.idle"

    def map(self):
        return [1, 2, 3]

    def process(self, chunk):
        return chunk

    def reduce(self, results):
        return list(results)


@task(name="tests.idle-gate")
def wait_at_gate() -> None:
    gate.wait(60)


@pytest.fixture
def told():
    """What the signal brought, in order, with the thread."""
    found: list[Any] = []

    def receive(sender: Any, worker: str, pools: tuple[str, ...], **_: Any) -> None:
        found.append((sender, worker, pools, threading.current_thread().name))

    worker_idle.connect(receive)
    yield found
    worker_idle.disconnect(receive)


@pytest.fixture
def running(told):
    gate.clear()
    running = Running()
    yield running
    gate.set()
    running.end()


def test_it_is_told_once_after_each_busy_time_when_all_outcomes_are_stored(running, told):
    first = Listed.push()
    assert first.result(timeout=60) == [1, 2, 3]
    wait_until(lambda: told)
    assert told == [(None, "w1", ("default",), "queueops-idle")]
    second = wait_at_gate.push()
    wait_until(lambda: second.state == "locked")
    third = Listed.push()
    assert third.result(timeout=60) == [1, 2, 3]
    turns = []
    running.turn_in(lambda: turns.append(1))
    wait_until(lambda: turns)
    assert len(told) == 1, "a task still runs"
    gate.set()
    wait_until(lambda: len(told) == 2)
    assert get_broker().record("default", second.id).state == "succeeded"


def test_a_worker_that_has_done_nothing_tells_nothing(running, told):
    turns = []
    running.turn_in(lambda: turns.append(1))
    wait_until(lambda: turns)
    assert told == []


def test_a_receiver_that_takes_long_or_raises_holds_up_no_task(running):
    free = threading.Event()

    def slow(**_: Any) -> None:
        free.wait(60)
        raise KeyError("a receiver")

    queueops.worker_idle.connect(slow)
    try:
        assert Listed.push().result(timeout=60) == [1, 2, 3]
        wait_until(lambda: any(thread.name == "queueops-idle" for thread in threading.enumerate()))
        assert Listed.push().result(timeout=60) == [1, 2, 3]
    finally:
        queueops.worker_idle.disconnect(slow)
        free.set()


def test_a_worker_in_a_test_tells_it_too(told):
    Listed.push()
    assert run_worker(until_idle=False) == 1
    assert told == []
    assert run_worker() == 4
    assert [pools for _, _, pools, _ in told] == [("default",)]
    assert run_worker() == 0
    assert len(told) == 1
