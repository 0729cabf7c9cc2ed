"""Tasks of the conformance tests of executors."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.apps import apps

from queueops import current, task
from queueops.tasks import registry


@task
def double(number: int) -> int:
    """Return twice the number."""
    return 2 * number


@task
async def double_later(number: int) -> int:
    """Return twice the number, by an event loop."""
    await asyncio.sleep(0.001)
    return 2 * number


@task
def count_to(number: int) -> Iterator[int]:
    """Yield the numbers below, each as a step of the progress."""
    yield from range(number)


@task
def tell() -> list[object]:
    """Report, and return what the context knows."""
    context = current()
    context.progress(3, 9)
    context.log("a line")
    context.extend(60)
    return [context.id, context.attempt, context.pool]


@task(retries=1)
def fail(text: str) -> None:
    """Raise."""
    raise ValueError(text)


@task
def ask(began: str) -> str:
    """Wait for a cancel, and return its reason."""
    Path(began).touch()
    while not current().cancelled:
        time.sleep(0.01)
    return current().cancel_reason


@task
def spin(began: str) -> None:
    """Run until it is stopped."""
    Path(began).write_text(str(os.getpid()))
    while True:
        time.sleep(0.01)


@task
async def sleep(began: str) -> None:
    """The same, by an event loop."""
    Path(began).write_text(str(os.getpid()))
    await asyncio.sleep(3600)


@task
def die() -> None:
    """Kill its process."""
    os.kill(os.getpid(), signal.SIGKILL)


_ALL: tuple[Any, ...] = (double, double_later, count_to, tell, fail, ask, spin, sleep, die)


@contextmanager
def registered() -> Iterator[None]:
    """Let this process know these tasks in the block, if this is not an installed app."""
    if apps.is_installed(__package__):
        yield
        return
    for each in _ALL:
        if registry.find("task", each.name) is None:
            registry.register(each.handler)
    try:
        yield
    finally:
        for each in _ALL:
            registry.unregister("task", each.name)
