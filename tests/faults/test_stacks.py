"""Stacks of a worker's threads: asked for through the store, also when a task holds the interpreter's lock."""

from __future__ import annotations

import io
import os
import signal

import pytest
from django.core.management import call_command

from queueops import control, inspect
from tests.faults import hogs, tasks
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults
LEASE = 4


def stacks_of(bench, worker: str) -> str:
    """The stacks, once the request is answered."""
    assert control.dump_stacks(worker)

    def found() -> str:
        stacks = inspect.worker(worker).stacks
        return "" if stacks is None or stacks.asked_ms else stacks.text

    return wait_until(found, say=bench.say)


def the_worker() -> str:
    return wait_until(lambda: [row.id for row in inspect.workers()])[0]


@pytest.mark.parametrize(("hog", "argument"), [(hogs.hold_while_closed, "free"), (hogs.match, 2.5 * LEASE)])
def test_a_task_that_holds_the_lock_gives_its_stack(bench, hog, argument):
    if hog is hogs.hold_while_closed:
        bench.ledger.close("free")
    bench.worker("--threads", "2", LEASE=LEASE)
    handle = hog.push(argument)
    bench.started(handle)
    wait_until(lambda: "silent" in [row.state for row in inspect.workers()], say=bench.say)
    text = stacks_of(bench, the_worker())
    assert f"in {hog.name.rpartition('.')[2]}" in text
    assert "hogs.py" in text
    assert text.count("hread 0x") >= 2  # the main loop, too
    if hog is hogs.hold_while_closed:
        bench.ledger.open("free")
    (record,) = bench.wait([handle])
    assert (bench.ledger.starts(), record.crashes) == ({handle.id: 1}, 0)


def test_a_process_that_runs_answers_itself_and_its_task_goes_on(bench):
    bench.worker("--threads", "2")
    handle = tasks.work.push(8)
    bench.started(handle)
    text = stacks_of(bench, the_worker())
    assert "in work" in text
    assert "main_loop.py" in text
    (record,) = bench.wait([handle])
    assert (record.state, record.crashes) == ("succeeded", 0)
    assert bench.ledger.starts() == {handle.id: 1}


def test_a_stopped_process_is_said_to_be_stopped(bench):
    worker = bench.worker("--threads", "1", LEASE=LEASE)
    the_worker()
    (child,) = worker.children()
    os.kill(child, signal.SIGSTOP)
    try:
        wait_until(lambda: "silent" in [row.state for row in inspect.workers()], say=bench.say)
        assert "did not answer the signal" in stacks_of(bench, the_worker())
    finally:
        os.kill(child, signal.SIGCONT)


@pytest.mark.django_db
def test_the_command_asks_and_prints_them(bench):
    bench.worker("--threads", "1")
    out = io.StringIO()
    call_command("queue", "stacks", the_worker(), stdout=out)
    assert "main_loop.py" in out.getvalue()
