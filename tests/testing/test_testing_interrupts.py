"""Ctrl-C ends a test whose task runs in `eager()` or `run_worker()`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from queueops import task_failed, task_started
from queueops.testing import eager, run_worker
from tests.support import tasks_for_tests as tasks

ROOT = Path(__file__).parents[2]
RUN = '''
import asyncio, signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent may have it ignored
import django
django.setup()
from queueops import MapReduce, chain, task
from queueops.testing import eager, run_worker

def wait():
    print("runs", flush=True)
    threading.Event().wait()

@task(name="waits")
def waits(*_):
    wait()

def is_waiting():
    """Whether the main thread waits for the loop. Ctrl-C a moment before would meet Thread.start() of an executor,
    whose thread the interpreter then waits for at its end, without an end.
    """
    frame, names = sys._current_frames()[threading.main_thread().ident], set()
    while frame:
        names.add(frame.f_code.co_name)
        frame = frame.f_back
    return "start" not in names and names & {"run_until_future", "result"}

@task(name="waits_on_the_loop")
async def waits_on_the_loop(*_):
    while not is_waiting():
        await asyncio.sleep(0)
    print("runs", flush=True)
    await asyncio.Event().wait()

class Chunked(MapReduce):
    name = "chunked"

    def map(self):
        yield 1
    def process(self, chunk):
        wait()

def plain(): waits.push()
def on_the_loop(): waits_on_the_loop.push()
def in_a_chain(): chain(waits.s(), waits.s()).push()
def a_chunk(): Chunked.push()
async def from_the_loop(): waits_on_the_loop.push()
def within_a_loop(): asyncio.Runner(debug=False).get_loop().run_until_complete(from_the_loop())

push = globals()[sys.argv[2]]
if sys.argv[1] == "eager":
    with eager():
        push()
else:
    push()
    run_worker()
print("goes on")
'''
PUSHES = ["plain", "on_the_loop", "in_a_chain", "a_chunk"]
CTRL_CS = 6


@contextmanager
def process(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    env = os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    command = [sys.executable, "-c", RUN, *arguments]
    started = subprocess.Popen(command, cwd=ROOT, env=env, stdout=-1, stderr=-1, text=True)
    try:
        yield started
    finally:
        started.kill()
        started.communicate()


def interrupted(test: subprocess.Popen[str]) -> tuple[str, str]:
    """Press Ctrl-C until the process ends, and return its output.

    Once is not always enough: if the signal arrives after Python has released the GIL and before it waits for a lock,
    Python handles it when that wait ends. That happens in about 1 of 3,000 waits on a loaded machine.
    """
    for _ in range(CTRL_CS):
        test.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            return test.communicate(timeout=15)
    raise AssertionError(f"the process runs on after {CTRL_CS} times Ctrl-C")


@pytest.mark.parametrize(
    ("way", "push"), [*(("eager", push) for push in [*PUSHES, "within_a_loop"]), *(("worker", push) for push in PUSHES)]
)
def test_ctrl_c_ends_the_test_and_starts_the_task_no_second_time(namespace: str, way: str, push: str) -> None:
    with process(way, push) as test:
        assert test.stdout is not None
        assert test.stdout.readline() == "runs\n"
        said, errors = interrupted(test)
    assert said == ""
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert test.returncode == -signal.SIGINT


def interrupt(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


@pytest.fixture
def listening(request: pytest.FixtureRequest) -> Iterator[None]:
    """A receiver of a signal in which Ctrl-C is pressed."""
    request.param.connect(interrupt)
    yield
    request.param.disconnect(interrupt)


@pytest.mark.parametrize("listening", [task_started, task_failed], indirect=True, ids=["started", "failed"])
@pytest.mark.parametrize("task", [tasks.fail, tasks.fail_later])
@pytest.mark.usefixtures("listening")
def test_ctrl_c_in_a_receiver_of_signals_ends_the_test(namespace: str, task: Any) -> None:
    with eager(), pytest.raises(KeyboardInterrupt):
        task.using(retries=0).push()
    task.using(retries=0).push()
    with pytest.raises(KeyboardInterrupt):
        run_worker()


@pytest.mark.timeout(60)
def test_a_test_that_fails_within_a_task_fails() -> None:
    with eager(), pytest.raises(pytest.fail.Exception, match="as pytest-timeout does"):
        tasks.fail_the_test.push()


def test_another_base_exception_fails_the_task_as_with_a_worker() -> None:
    with eager():
        assert tasks.leave.push().state == "failed"
