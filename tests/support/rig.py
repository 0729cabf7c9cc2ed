"""An executor without a worker around it, and what came of the tasks that it was given."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from itertools import islice
from typing import Any

from queueops.model.contracts import Lease, Settlement
from queueops.tasks import registry
from queueops.tasks.context import Context
from queueops.worker.execution.thread_executor import ThreadExecutor
from queueops.worker.shared_slot_table import SlotTable
from tests.support.waiting import wait_until

KIND = "for-tests"


class Handler:
    """Runs what it was given."""

    kind = KIND
    retry_on = (Exception,)

    def __init__(self, name: str, function: Callable[[Context], Any]) -> None:
        self.name = name
        self.is_async = inspect.iscoroutinefunction(function)
        self.run = function


class Silent:
    """A channel without a listener."""

    def progress(self, lease: Lease, done: float, total: float | None) -> None: ...

    def log(self, lease: Lease, text: str) -> None: ...

    def extend(self, lease: Lease, seconds: float) -> None: ...

    def set_deadline(self, lease: Lease, seconds: float) -> None: ...


class Rig:
    """An executor, and what came of the tasks."""

    def __init__(self, threads: int) -> None:
        self.table = SlotTable(2 * threads)
        self.rings: list[int] = []
        self.turn: Callable[[], None] = lambda: None
        self.executor = ThreadExecutor(threads, self.table, Silent(), self.ring, lambda: self.turn())
        self.names: list[str] = []
        self.numbers = iter(range(1, 1_000_000))

    def ring(self) -> None:
        self.rings.append(threading.get_ident())

    def task(self, function: Callable[[Context], Any]) -> str:
        name = f"task{len(self.names)}"
        registry.register(Handler(name, function))
        self.names.append(name)
        return name

    def submit(self, name: str, count: int = 1, **fields: Any) -> list[Lease]:
        leases = [Lease(id=f"t{n}", fence=n, name=name, kind=KIND, **fields) for n in islice(self.numbers, count)]
        self.executor.submit(leases)
        return leases

    def ends(self, count: int = 1) -> list[Settlement]:
        wait_until(lambda: len(self.executor.done) >= count, say=lambda: self.executor.done)
        return [settlement for _, settlement, _ in sorted(self.executor.done, key=lambda done: done[0].fence)]

    def run(self, function: Callable[[Context], Any], **fields: Any) -> Settlement:
        (lease,) = self.submit(self.task(function), **fields)
        wait_until(lambda: any(done[0] is lease for done in self.executor.done), say=lambda: self.executor.done)
        return next(done[1] for done in self.executor.done if done[0] is lease)


async def answer(context: Context) -> int:
    """An async task."""
    await asyncio.sleep(0)
    return 42
