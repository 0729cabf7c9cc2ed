"""The signals `worker_started` and `worker_stopping`: sent once each by a worker process."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import queueops
from queueops import task
from queueops.signals import task_started
from tests.support.waiting import wait_until
from tests.worker.test_loop import Running

pytestmark = pytest.mark.usefixtures("namespace")
SIGNALS = {"started": queueops.worker_started, "stopping": queueops.worker_stopping, "task": task_started}

gate = threading.Event()


@task(name="tests.lifetime-gate")
def wait_at_gate() -> None:
    gate.wait(60)


@pytest.fixture
def told():
    """Which signals came, in their order, and what they brought."""
    found: list[Any] = []
    receivers = {}
    for name, signal in SIGNALS.items():

        def receive(sender: Any, name: str = name, **facts: Any) -> None:
            found.append((name, facts.get("worker"), facts.get("pools")))

        receivers[name] = receive  # which Django holds by a weak reference alone
        signal.connect(receive)
    gate.clear()
    yield found
    gate.set()
    for name, signal in SIGNALS.items():
        signal.disconnect(receivers[name])


@pytest.fixture
def started(told):
    """Starts a loop, and ends it however the test goes."""
    found: list[Running] = []

    def start() -> Running:
        found.append(Running())
        return found[-1]

    yield start
    gate.set()
    for running in found:
        running.end()


START, TASK, STOP = ("started", "w1", ("default",)), ("task", None, None), ("stopping", "w1", ("default",))


def test_they_come_before_the_first_task_and_while_the_last_one_still_runs(told, started):
    handle = wait_at_gate.push()
    running = started()
    wait_until(lambda: TASK in told)
    running.loop.stop("the test is over")
    running.loop.stop("once more")
    wait_until(lambda: STOP in told)
    assert handle.state == "locked"
    gate.set()
    running.thread.join(60)
    assert told == [START, TASK, STOP]


def test_a_process_that_is_replaced_tells_that_it_stops(told, started):
    running = started()
    running.loop.retire("it has done enough")
    running.thread.join(60)
    assert told == [START, STOP]


def test_a_receiver_that_raises_or_takes_long_harms_nothing(told, started):
    free = threading.Event()

    def raise_in_start(**_: Any) -> None:
        raise KeyError("a receiver")

    def take_long(**_: Any) -> None:
        free.wait(60)

    queueops.worker_started.connect(raise_in_start)
    queueops.worker_stopping.connect(take_long)
    handle = wait_at_gate.push()
    running = started()
    try:
        wait_until(lambda: handle.state == "locked")
        running.loop.stop("the test is over")
        gate.set()
        wait_until(lambda: handle.state == "succeeded")  # which the loop has told, while the receiver waits
    finally:
        queueops.worker_started.disconnect(raise_in_start)
        queueops.worker_stopping.disconnect(take_long)
        free.set()
