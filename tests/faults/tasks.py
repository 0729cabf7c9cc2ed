"""Tasks that harm their worker, and such that write down what happens to them where no fault of Redis reaches."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import signal
import sys
import time

from queueops import Batch, Iterator, MapReduce, Retry, current, task
from queueops.errors import SoftTimeout
from queueops.errors.leases import LeaseLost
from tests.faults import counts, django_tasks, hogs, job_crashes, later, sagas, scoped, two_versions
from tests.faults.dependencies import away, shops
from tests.faults.ledger import is_closed, note, pass_gate

__all__ = ["away", "counts", "django_tasks", "hogs", "later", "sagas", "scoped", "shops", "two_versions"]

job_crashes.install()


@task()
def work(seconds: float = 0.0) -> int:
    note("start")
    time.sleep(seconds)
    note("end")
    return os.getpid()


@task()
def grows(parts: int) -> int:
    """Add parts to its group; the first start is killed after that."""
    current().add(*[work.s(0.001 * number) for number in range(parts)])
    note("start")
    if current().lease.crashes == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return parts


@task()
def started_at() -> float:
    """The moment of its start, by the clock that all processes of a machine share."""
    return time.monotonic()


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
def counts_aloud(total: int) -> int:
    for number in range(total):
        current().progress(number + 1, total)
        current().log(f"number {number + 1}")
        time.sleep(0.05)
    return total


@task()
async def work_later(seconds: float = 0.0) -> int:
    note("start")
    await asyncio.sleep(seconds)
    note("end")
    return os.getpid()


@task(priority=9)
def urgent() -> None:
    note("start")


@task()
def wait_at_gate(name: str) -> int:
    note("start")
    pass_gate(name)
    note("end")
    return os.getpid()


@task()
def pushes_at_gate(name: str) -> str:
    """Push a child in this pool and one in another, each after the gate, and write down what became of it."""
    note("start")
    pass_gate(name)
    for pool in ("default", "mail"):
        try:
            current().push(echo.using(pool=pool), current().lease.fence)
        except LeaseLost:
            note(f"refused-{pool}")
        else:
            note(f"pushed-{pool}")
    return current().id


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


def stop_badly() -> None:
    """Raise once cancelling is asked for."""
    note("start")
    while not current().cancelled:
        time.sleep(0.01)
    raise ValueError("no")


@task(retries=3)
def stops_badly() -> None:
    stop_badly()


@task(retries=0)
async def stops_badly_later() -> None:
    note("start")
    try:
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        raise ValueError("no") from None


class StopsBadly(Iterator):
    """Its first step never ends well."""

    retries = 0

    def iterate(self, state: None) -> Batch | None:
        stop_badly()


class ChunkStopsBadly(MapReduce):
    """Its only chunk never ends well."""

    retries = 0

    def map(self) -> list[int]:
        return [0]

    def process(self, chunk: int) -> None:
        stop_badly()


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


@task(timeout=600, retries=0)
def asks_for_less(seconds: float) -> None:
    """Ask for less time than the timeout, and loop."""
    note("start")
    current().extend(seconds - 600)
    while True:
        time.sleep(0.01)


@task(timeout=600, retries=0)
async def asks_for_less_later(seconds: float) -> None:
    note("start")
    current().extend(seconds - 600)
    await asyncio.sleep(600)


@task(retries=0)
def sets_a_deadline(seconds: float) -> None:
    """Set a deadline, where there was none, and loop."""
    note("start")
    current().set_deadline(seconds)
    while True:
        time.sleep(0.01)


@task(retries=0)
def sets_a_deadline_and_is_stubborn(seconds: float) -> None:
    """Set a deadline, and stay in a system call."""
    note("start")
    current().set_deadline(seconds)
    time.sleep(600)


@task(timeout=1, retries=0)
def sets_a_later_deadline() -> str:
    """Set a deadline beyond the timeout."""
    note("start")
    current().set_deadline(600)
    time.sleep(3)
    return "in time"


@task(retries=3, retry=Retry(delay=0.2, backoff=1, jitter=0))
def fails_at_first() -> int:
    """Fail, but for the last attempt."""
    if current().attempt < 4:
        raise ValueError("not yet")
    return current().attempt


@task()
def logs_and_pushes(depth: int) -> None:
    """Write a line to the log, and so does its child."""
    logging.getLogger("shop").info("depth %d", depth)
    if depth:
        current().push(logs_and_pushes, depth - 1)


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


if os.environ.get("QUEUEOPS_TESTS_NEW_CODE"):  # what a deploy brings

    @task(name="tests.faults.new")
    def new() -> str:
        """Run where the code is new."""
        return "new"
