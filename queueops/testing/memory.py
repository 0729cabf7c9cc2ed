"""Memory broker: takes the place of the store in a test, and keeps the records of what is pushed."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn
from unittest import mock

from asgiref.sync import sync_to_async

from queueops import conf
from queueops.errors.kinds import NeedsStore
from queueops.model.contracts import LeaseRef, Push, Pushed
from queueops.model.records import Record
from queueops.model.states import State
from queueops.redis import broker as brokers
from queueops.redis.keys import Keys
from queueops.results import waiting
from queueops.results.handle import TaskHandle
from queueops.stores import rules

FIRST_UID = 1 << 40
"""Above all generations of a store, so that a handle never confuses the two."""


async def _here(call: Callable[[], Any]) -> Any:
    """Run in the test's own thread, with its database transaction, what async code leaves to a thread."""
    return await sync_to_async(call)()


class MemoryBroker:
    """The broker's methods for producers and handles, in memory. `records` holds every task, in order."""

    runs_here = True
    spread = False

    def __init__(self) -> None:
        self.settings = conf.current()
        self.records: dict[tuple[str, str], Record] = {}
        self._number = FIRST_UID

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """The class of the broker that this one replaces, so that it is accepted in each of its roles."""
        return brokers.broker_class()

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Replace the store in this block."""
        with (
            brokers.in_place_of_store(self),
            mock.patch.object(waiting, "in_thread", _here),
            mock.patch.object(TaskHandle, "in_memory", self),
        ):
            yield

    def __getattr__(self, name: str) -> Any:
        """Refuse a call that only a store can answer. Raises NeedsStore."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise NeedsStore(what=f"This call ({name})")

    def hasty(self) -> NoReturn:
        """Refuse `inspect` and the console, which see a store alone. Raises NeedsStore."""
        raise NeedsStore(what="This call")

    def push(self, pushes: Sequence[Push], *, durable: bool = False, under: LeaseRef | None = None) -> list[Pushed]:
        """Take tasks, one after the other."""
        refuse = getattr(asyncio._get_running_loop(), "refuse_store", None)
        if refuse is not None:  # the code of a workflow, which is replayed
            refuse()
        return [self._push(push, under) for push in pushes]

    def _push(self, push: Push, under: LeaseRef | None) -> Pushed:
        raise NotImplementedError

    def pushes(self, pool: str, *, durable: bool = False, under: LeaseRef | None = None) -> MemoryPushes:
        """Take tasks, batch by batch."""
        return MemoryPushes(self, under)

    def done_channel(self, pool: str, task_id: str) -> str:
        """The channel on which the end of a task would be published."""
        return Keys(self.settings.namespace, pool).done(task_id)

    def record(self, pool: str, task_id: str) -> Record | None:
        """The record of a task, or None."""
        return self.records.get((pool, task_id))

    def find(self, task_id: str) -> tuple[str, Record] | None:
        """The pool that holds this id, and its record."""
        return next(((pool, record) for (pool, key), record in self.records.items() if key == task_id), None)

    def create(self, push: Push) -> Record:
        """Create the record of a push."""
        self._number += 1
        record = self.records[push.pool, push.id] = rules.recorded(push, self._number, now_ms())
        record.state, record.due = State.PENDING, None
        return record


class MemoryPushes:
    """A pipeline whose batches are taken when they are sent."""

    def __init__(self, broker: MemoryBroker, under: LeaseRef | None) -> None:
        self._broker, self._under = broker, under
        self._pushed: deque[list[Pushed]] = deque()

    def send(self, pushes: Sequence[Push]) -> None:
        """Send one batch."""
        self._pushed.append(self._broker.push(pushes, under=self._under))

    def receive(self) -> list[Pushed]:
        """The results of the oldest batch."""
        return self._pushed.popleft()

    def close(self) -> None:
        """Nothing to close: there is no connection."""


def now_ms() -> int:
    """The time of this process."""
    return int(time.time() * 1000)
