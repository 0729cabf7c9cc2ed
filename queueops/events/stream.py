"""Event stream: a bounded buffer between the hub's thread and the code that iterates, sync or async."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

from queueops.errors import BadOption, BrokerUnavailable
from queueops.events.event import GAP, KINDS, NOW, Event, now
from queueops.events.hub import Hub, hub_of
from queueops.model.durations import to_ms
from queueops.model.ids import check_id, check_lane
from queueops.redis import broker as brokers
from queueops.results import waiting
from queueops.results.handle import TaskHandle

MOST_IDS, MOST_BUFFERED = 1_000, 100_000
PAUSE = 0.25
"""Seconds until the state is read again after the store did not answer."""
LOOK_EVERY = 1.0
"""Seconds between two checks of a waiting stream for its time limit."""

Ids = str | TaskHandle[Any] | Iterable[str | TaskHandle[Any]]


def follow(
    *,
    id: Ids = (),
    root: str | TaskHandle[Any] = "",
    name: str = "",
    pool: str = "",
    kinds: Iterable[str] = ("end", "progress"),
    buffer: int = 1_000,
    seconds: float | None = None,
) -> EventStream:
    """Follow the events of tasks from now on, for a number of seconds or until the stream is closed.

    `id`: a task's id or handle, or up to 1,000 of them. `root`: this task and all of its descendants. `name`: all tasks
    of a name. `pool`: of one pool only; a known pool saves the store work. `kinds`: "end", "progress", "state", "log".
    `buffer`: the most waiting events; beyond it the oldest are dropped, with a "gap". Raises BadOption, BadId.
    """
    ids = [id] if isinstance(id, str | TaskHandle) else list(id)
    chosen = tuple(kinds)
    if wrong := [kind for kind in chosen if kind not in KINDS]:
        raise BadOption(name="kinds", value=wrong[0], expected=f"one of {', '.join(KINDS)}")
    _check_buffer(buffer)
    if not isinstance(name, str):
        raise BadOption(name="name", value=name, expected="the name of a task, a text; a task has it as its `.name`")
    if len(ids) > MOST_IDS:
        raise BadOption(name="id", value=len(ids), expected=f"at most {MOST_IDS} ids; follow a root or a name instead")
    pools = {each.pool for each in ids if isinstance(each, TaskHandle)} if all(map(_has_pool, ids)) else set()
    chosen_pool = check_lane(pool, "name of a pool") if pool else pools.pop() if len(pools) == 1 else ""
    return EventStream(
        tuple(map(_id_of, ids)), _id_of(root) if root else "", name, chosen_pool, chosen, buffer,
        None if seconds is None else to_ms("seconds", seconds) / 1000,
    )  # fmt: skip


class EventStream:
    """A stream of events, for `for` or `async for`; close it, or use it as a context manager.

    The entry (or the first step of an iteration) waits until the store publishes events, and reads the state. If the
    first connection fails, it raises BrokerUnavailable. Later outages are a "gap", and the stream continues.
    """

    def __init__(
        self,
        ids: tuple[str, ...],
        root: str,
        name: str,
        pool: str,
        kinds: tuple[str, ...],
        buffer: int,
        seconds: float | None,
    ) -> None:
        self.ids, self.root, self.name, self.pool, self.kinds = ids, root, name, pool, kinds
        self._most, self._seconds = buffer, seconds
        self._wanted = frozenset(ids)
        self._end = float("inf")
        self._buffer: deque[Event] = deque()
        self._changed = threading.Condition()
        self._sleeper: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None
        self._dropped = 0
        self._reads = True
        self._started = self._closed = False
        self._hub: Hub | None = None

    # As a context manager

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        await waiting.in_thread(self.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Iterating

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        self.start()
        while True:
            if (event := self._take()) is not None:
                return event
            if self._is_over():
                raise StopIteration
            if self._due_to_read():
                if not self._read():
                    time.sleep(PAUSE)
                continue
            with self._changed:
                if not (self._buffer or self._reads or self._closed):
                    self._changed.wait(max(0.0, min(LOOK_EVERY, self._end - time.monotonic())))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        if not self._started:
            await waiting.in_thread(self.start)
        while True:
            if (event := self._take()) is not None:
                return event
            if self._is_over():
                raise StopAsyncIteration
            if self._due_to_read():
                if not await waiting.in_thread(self._read):
                    await asyncio.sleep(PAUSE)
                continue
            await self._sleep()

    def start(self) -> None:
        """Begin to listen. Raises BrokerUnavailable if the store cannot be reached."""
        if self._started:
            return
        if self._seconds is not None:
            self._end = time.monotonic() + self._seconds
        broker = brokers.get_broker()
        if not self.pool and len(self.ids) == 1 and (found := broker.find(self.ids[0])):
            self.pool = found[0]
        self._hub = hub_of(broker)
        if self._hub is None:  # eager tasks have ended when they are pushed
            self._end = 0.0
        else:
            self._hub.attach(self)
        self._reads = False
        try:
            state = self._found()
        except BaseException:  # a stream that did not start might never be closed
            self._forget()
            raise
        self._started = True
        self._buffer.extendleft(reversed(state))

    def close(self) -> None:
        """Stop listening; an iteration under way ends."""
        if self._hub is not None:
            self._hub.detach(self)
        with self._changed:
            self._closed = True
            self._wake()

    # What the hub calls

    def put(self, event: Event) -> None:
        """Take an event, if the stream follows it."""
        if event.kind not in self.kinds or not self._selects(event):
            return
        with self._changed:
            if len(self._buffer) >= self._most:
                self._buffer.popleft()
                self._dropped += 1
            self._buffer.append(event)
            self._wake()

    def interrupt(self, reason: str) -> None:
        """Note that events may be missing from now on."""
        with self._changed:
            self._buffer.append(Event(kind=GAP, text=reason))
            self._wake()

    def resume(self) -> None:
        """Note that no event is missing any more: the state is read again."""
        with self._changed:
            self._reads = True
            self._wake()

    # Inside

    def _forget(self) -> None:
        """Stop listening, and drop the buffer: another start begins anew."""
        if self._hub is not None:
            self._hub.detach(self)
        with self._changed:
            self._buffer.clear()
            self._dropped = 0

    def _selects(self, event: Event) -> bool:
        if self._wanted and event.id not in self._wanted:
            return False
        if self.root and self.root not in (event.id, event.root):
            return False
        return not (self.name and event.name != self.name) and not (self.pool and event.pool != self.pool)

    def _take(self) -> Event | None:
        with self._changed:
            if self._dropped:
                count, self._dropped, self._reads = self._dropped, 0, True
                return Event(kind=GAP, text=f"{count} events were dropped: the buffer of {self._most} was full")
            return self._buffer.popleft() if self._buffer else None

    def _due_to_read(self) -> bool:
        with self._changed:
            return self._reads

    def _read(self) -> bool:
        """Put the stored state of the followed tasks into the buffer. Returns whether the store answered."""
        with self._changed:
            self._reads = False
        try:
            found = self._found()
        except BrokerUnavailable:  # the next outage, which is a gap, too
            self.resume()
            return False
        with self._changed:
            self._buffer.extend(found)
        return True

    def _found(self) -> list[Event]:
        """The stored state of tasks with known ids; a name may have too many tasks."""
        broker = brokers.get_broker()
        events = []
        for task_id in self.ids or filter(None, (self.root,)):
            record = broker.record(self.pool, task_id) if self.pool else None
            if record is None and (found := broker.find(task_id)) is not None:
                record = found[1]
            events.append(Event(kind=NOW, id=task_id) if record is None else now(record))
        return events

    def _is_over(self) -> bool:
        return self._closed or time.monotonic() >= self._end

    def _wake(self) -> None:
        """Called with the lock."""
        self._changed.notify_all()
        if self._sleeper is not None:
            loop, awake = self._sleeper
            self._sleeper = None
            if not loop.is_closed():
                loop.call_soon_threadsafe(awake.set)

    async def _sleep(self) -> None:
        awake = asyncio.Event()
        with self._changed:
            if self._buffer or self._reads or self._closed:
                return
            self._sleeper = asyncio.get_running_loop(), awake
        seconds = self._end - time.monotonic()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(awake.wait(), None if seconds == float("inf") else max(0.0, seconds))


def _check_buffer(value: object) -> None:
    if type(value) is not int or not 1 <= value <= MOST_BUFFERED:
        raise BadOption(name="buffer", value=value, expected=f"a whole number from 1 to {MOST_BUFFERED}")


def _has_pool(task: str | TaskHandle[Any]) -> bool:
    return isinstance(task, TaskHandle)


def _id_of(task: str | TaskHandle[Any]) -> str:
    return check_id(task.id if isinstance(task, TaskHandle) else task)
