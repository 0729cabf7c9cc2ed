"""A failed task's local variables are freed at its end, and do not wait for the garbage collector."""

from __future__ import annotations

import asyncio
import gc
import time
import weakref
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from queueops import MapReduce, Permanent, RetryLater, activity, current, task, wf, workflow
from queueops.errors import Cancelled, Interrupt, SoftTimeout
from queueops.model.contracts import Lease
from queueops.tasks import process_scope
from queueops.tasks.depends import Depends
from queueops.testing import run_worker
from tests.support.rig import Rig
from tests.support.waiting import wait_until


class Held:
    """A local variable of a task."""

    def __init__(self) -> None:
        held.append(weakref.ref(self))


held: list[weakref.ref[Held]] = []


def failure_of(how: str) -> BaseException:
    match how:
        case "permanent":
            return Permanent(ValueError("the card is refused"))
        case "retry later":
            return RetryLater(60, "the supplier is busy")
        case "exit":
            return SystemExit(3)
        case _:
            return ValueError("broken")


def fail_here(how: str) -> None:
    local = Held()  # noqa: F841 the frame keeps it
    raise failure_of(how)


@task(retries=0)
def fails(how: str) -> object:
    """Fail, or return what cannot be stored."""
    local = Held()
    if how == "cancelled":
        current().cancel()
    if how == "restart":
        current().restart()
    if how == "unfit result":
        return local
    raise failure_of(how)


@task(retries=3)
def fails_and_is_retried(how: str) -> None:
    """Fail while attempts are left."""
    local = Held()  # noqa: F841 the frame keeps it
    raise failure_of(how)


@task
def generates(how: str) -> Iterator[int]:
    """Fail after a step."""
    local = Held()  # noqa: F841 as above
    yield 1
    raise failure_of(how)


@task
async def fails_async(how: str) -> object:
    """Fail on the event loop."""
    local = Held()
    await asyncio.sleep(0)
    if how == "cancelled":
        current().cancel()
    if how == "unfit result":
        return local
    raise failure_of(how)


@task
async def generates_async(how: str) -> AsyncIterator[int]:
    """Fail after a step, on the event loop."""
    local = Held()  # noqa: F841 as above
    yield 1
    raise failure_of(how)


@task
async def fails_in_its_thread(how: str) -> None:
    """Fail in code that an async task calls in its thread."""
    await sync_to_async(fail_here)(how)


def opened() -> Iterator[int]:
    """A dependency."""
    local = Held()  # noqa: F841 as above
    yield 1


@task
def fails_with_dependencies(how: str, number: int = Depends(opened)) -> None:
    """Fail while a dependency is open."""
    local = Held()  # noqa: F841 as above
    raise failure_of(how)


@task
def spins(how: str) -> None:
    """Run until an interrupt."""
    local = Held()  # noqa: F841 as above
    while True:
        time.sleep(0.001)


@task
async def sleeps(how: str) -> None:
    """Sleep until an interrupt."""
    local = Held()  # noqa: F841 as above
    await asyncio.sleep(60)


async def fails_to_open() -> AsyncIterator[int]:
    """A dependency."""
    local = Held()  # noqa: F841 as above
    raise failure_of("error")
    yield 1


@task
async def needs_what_fails(how: str, number: int = Depends(fails_to_open, scope="process")) -> None:
    """Never start."""


@pytest.fixture(autouse=True)
def _without_collector() -> Iterator[None]:
    gc.disable()
    held.clear()
    yield
    gc.enable()


def none_lives() -> bool:
    return bool(held) and not any(each() for each in held)


def submit(rig: Rig, wanted: Any, how: str, count: int = 3, **fields: Any) -> list[Lease]:
    args = f'[["{how}"],{{}}]'.encode()
    leases = [Lease(id=f"t{n}", fence=n, name=wanted.name, args=args, **fields) for n in range(1, count + 1)]
    rig.executor.submit(leases)
    return leases


FUNCTIONS = [fails, fails_with_dependencies, generates, fails_async, generates_async, fails_in_its_thread]


@pytest.mark.parametrize("how", ["error", "permanent", "retry later", "exit"])
@pytest.mark.parametrize("wanted", [*FUNCTIONS, fails_and_is_retried], ids=lambda each: each.name)
def test_the_locals_of_a_failed_task_are_freed(rig: Rig, wanted: Any, how: str) -> None:
    submit(rig, wanted, how, retries=2)
    rig.ends(3)
    wait_until(none_lives, 2, say=lambda: [gc.get_referrers(each()) for each in held])


@pytest.mark.parametrize(
    ("wanted", "how"),
    [(fails, "cancelled"), (fails, "restart"), (fails, "unfit result"), (fails_async, "cancelled"),
     (fails_async, "unfit result")],
)  # fmt: skip
def test_the_locals_of_a_task_that_ends_otherwise_are_freed(rig: Rig, wanted: Any, how: str) -> None:
    submit(rig, wanted, how)
    rig.ends(3)
    wait_until(none_lives, 2, say=lambda: [gc.get_referrers(each()) for each in held])


@pytest.mark.parametrize("kind", [SoftTimeout, Cancelled])
@pytest.mark.parametrize("wanted", [spins, sleeps], ids=lambda each: each.name)
def test_the_locals_of_an_interrupted_task_are_freed(rig: Rig, wanted: Any, kind: type[Interrupt]) -> None:
    (lease,) = submit(rig, wanted, "", 1, timeout_ms=60_000)
    wait_until(lambda: held)
    assert rig.executor.interrupt(lease, kind)
    rig.ends(1)
    wait_until(none_lives, say=lambda: [gc.get_referrers(each()) for each in held])


def test_the_locals_of_a_dependency_of_the_process_that_cannot_be_opened_are_freed(rig: Rig) -> None:
    with process_scope.opened():
        submit(rig, needs_what_fails, "")
        rig.ends(3)
        wait_until(none_lives, say=lambda: [gc.get_referrers(each()) for each in held])


class Breaks(MapReduce):
    """A map-reduce that fails at one of its stages."""

    retries = 0
    chunk_retries = 0

    def map(self, where: str) -> Iterator[str]:
        """One chunk."""
        yield where
        fail_at("map", where)

    def process(self, chunk: str) -> str:
        """Fail, or not."""
        fail_at("process", chunk)
        return chunk

    def reduce(self, results: Any) -> None:
        """Fail, or not."""
        fail_at("reduce", *results)


def fail_at(place: str, where: str) -> None:
    if place == where:
        fail_here("error")


@activity(retries=0)
def breaks(how: str) -> None:
    """An activity."""
    fail_here(how)


@workflow
async def waits_for_what_breaks(how: str) -> None:
    """Fail with its activity."""
    local = Held()  # noqa: F841 as above
    await wf.call(breaks, how)


@workflow
async def breaks_itself(how: str) -> None:
    """Fail with its own error."""
    fail_here(how)


@pytest.mark.parametrize("stage", ["map", "process", "reduce"])
def test_the_locals_of_a_failed_stage_of_a_map_reduce_are_freed(namespace: str, stage: str) -> None:
    Breaks.push(stage)
    run_worker()
    assert none_lives()


@pytest.mark.parametrize("wanted", [waits_for_what_breaks, breaks_itself], ids=lambda each: each.name)
def test_the_locals_of_a_failed_run_and_its_activities_are_freed(namespace: str, wanted: Any) -> None:
    wanted.start("error")
    run_worker()
    assert none_lives()


@task
async def fails_in_a_group(how: str) -> None:
    """Fail in a task of a group."""

    async def part() -> None:
        local = Held()  # noqa: F841 as above
        raise failure_of(how)

    async with asyncio.TaskGroup() as group:
        group.create_task(part())
        group.create_task(part())


def fails_to_close() -> Iterator[int]:
    """A dependency."""
    local = Held()  # noqa: F841 as above
    yield 1
    raise failure_of("error")


async def fails_to_close_async() -> AsyncIterator[int]:
    """A dependency."""
    local = Held()  # noqa: F841 as above
    yield 1
    raise failure_of("error")


@task
def depends_on_what_fails(how: str, number: int = Depends(fails_to_close)) -> None:
    """Return, or fail as its dependency does."""
    if how == "both":
        fail_here("error")


@task
async def depends_on_what_fails_async(how: str, number: int = Depends(fails_to_close_async)) -> None:
    """Return, or fail as its dependency does."""
    if how == "both":
        fail_here("error")


@pytest.mark.parametrize(
    ("wanted", "how"),
    [
        (fails_in_a_group, "error"),
        (depends_on_what_fails, "closes"),
        (depends_on_what_fails, "both"),
        (depends_on_what_fails_async, "closes"),
        (depends_on_what_fails_async, "both"),
    ],
)
def test_the_locals_of_a_group_and_of_a_dependency_that_fail_are_freed(rig: Rig, wanted: Any, how: str) -> None:
    submit(rig, wanted, how, retries=0)
    rig.ends(3)
    wait_until(none_lives, 2, say=lambda: [gc.get_referrers(each()) for each in held])
