"""Tasks that harm their worker, and such that write down what happens to them where no fault of Redis reaches."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
import time

from queueops import Batch, Iterator, Retry, current, task
from queueops.errors import SoftTimeout
from tests.faults import counts
from tests.faults.ledger import is_closed, note, pass_gate

__all__ = ["counts"]


@task()
def work(seconds: float = 0.0) -> int:
    note("start")
    time.sleep(seconds)
    note("end")
    return os.getpid()


@task()
def echo(value: object = None) -> object:
    return value


class Pages(Iterator):
    """As many batches as it is told, in each a task for each pool."""

    window = 4

    def iterate(self, state: int | None, count: int, pools: list[str]) -> Batch | None:
        page = state or 0
        if page == count:
            return None
        return Batch(state=page + 1, tasks=[work.using(pool=pool).s() for pool in pools])


@task()
async def work_later(seconds: float = 0.0) -> int:
    note("start")
    await asyncio.sleep(seconds)
    note("end")
    return os.getpid()


@task()
def wait_at_gate(name: str) -> int:
    note("start")
    pass_gate(name)
    note("end")
    return os.getpid()


@task()
async def wait_at_gate_later(name: str) -> None:
    note("start")
    try:
        while is_closed(name):
            await asyncio.sleep(0.01)
    except asyncio.CancelledError:
        note("stopped")
        raise


@task()
def leave(status: int) -> None:
    note("start")
    os._exit(status)


@task()
def die_once(number: int) -> str:
    note("start")
    if current().lease.crashes == 0:
        os.kill(os.getpid(), number)
        time.sleep(30)
    return "survived"


@task()
def poison() -> None:
    note("start")
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(30)


@task(timeout=0.4, retries=0)
def slow_loop() -> None:
    note("start")
    try:
        while True:
            time.sleep(0.01)
    except SoftTimeout:
        note("interrupted")
        raise


@task(timeout=0.4, retries=0)
async def slow_loop_later() -> None:
    note("start")
    await asyncio.sleep(60)


@task(timeout=0.5, retries=0)
def deaf() -> None:
    """Hold on to the interpreter, so that no exception reaches this thread, nor any other."""
    note("start")
    ctypes.PyDLL(None).sleep(60)


@task(timeout=0.5, retries=0)
def stubborn() -> None:
    """In a system call that no exception ends."""
    note("start")
    time.sleep(60)


@task()
def patient(seconds: float) -> str:
    """Give up as soon as cancelling is asked for."""
    note("start")
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if current().cancelled:
            current().cancel()
        time.sleep(0.01)
    return "not cancelled"


@task()
def loops() -> None:
    """Never look whether cancelling is asked for."""
    note("start")
    try:
        while True:
            time.sleep(0.01)
    finally:
        note("interrupted")


@task()
async def patient_later(seconds: float) -> None:
    note("start")
    await asyncio.sleep(seconds)


@task(retries=0)
def returns_an_object() -> object:
    return object()


@task(retries=3)
def returns_too_much() -> str:
    return "x" * 2_000_000


@task(retries=0)
def exits() -> None:
    raise SystemExit(3)


@task(retries=0)
def forks(way: str) -> int:
    """The exit status of a process that comes to the end of this function in its own way."""
    return fork(way)


@task(retries=0)
async def forks_later(way: str) -> int:
    return fork(way)


def fork(way: str) -> int:
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if way == "exits":
        sys.exit(3)
    if way == "raises":
        raise ValueError
    return -1


@task()
def grow(megabytes: int) -> None:
    """Take memory and keep it."""
    note("start")
    kept.append(b"x" * (megabytes * 1024 * 1024))


@task()
def grow_at_gate(megabytes: int, name: str) -> None:
    """Take memory and keep it while the gate is closed."""
    grow(megabytes)
    pass_gate(name)


kept: list[bytes] = []


@task(timeout=2, retries=0)
def asks_for_more(seconds: float) -> str:
    """Take longer than the timeout, having said so before it ends, on a slow machine too."""
    note("start")
    current().extend(seconds)
    time.sleep(seconds)
    return "in time"


@task()
def talks() -> None:
    """Tell about itself, and go on."""
    note("start")
    for done in range(1, 51):
        current().progress(done, 50)
    current().log("half way\nthrough")
    pass_gate("seen")
    current().log("the last word")


@task(timeout=0.3, retries=1, retry=Retry(delay=0.5, jitter=0))
def stubborn_once() -> str:
    note("start")
    if current().attempt == 1:
        time.sleep(60)
    return "the second time"
