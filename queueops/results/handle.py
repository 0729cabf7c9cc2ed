"""Task handle: a pushed task as seen by its producer: its state, its result, and actions on it."""

from __future__ import annotations

import asyncio
import os
import time
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from queueops.errors import TaskGone, TaskSuperseded
from queueops.errors.tasks import WaitOnEventLoop
from queueops.model import kinds
from queueops.model.durations import Delay, when
from queueops.model.ids import check_id, check_lane
from queueops.model.reasons import kept
from queueops.model.records import Record
from queueops.model.states import State
from queueops.model.task_error import raised_by
from queueops.redis import broker as brokers
from queueops.results import waiting
from queueops.results.status import Progress as Progress
from queueops.results.status import TaskStatus as TaskStatus
from queueops.results.status import progress_of, status_of
from queueops.results.types import type_of
from queueops.tasks import registry
from queueops.tasks.foreign_names import HANDLE_METHODS, missing_attribute

Result = TypeVar("Result", covariant=True)
AFTER = "AFTER"


class TaskHandle(Generic[Result]):
    """The reference to a task. `word` is the result of the push: OK, EXISTS (a task had this id), REPLACED, AFTER.

    Handles are equal if they have the same id. A handle may be made from a stored id and pool. With a text that cannot
    be an id, every use raises BadId.

    `uid` is the generation of that push (with AFTER, the one before it). `result` waits for this push, even if it is
    run again, and for no later one. Without `uid`, and in all other methods, the handle means any task of the id.
    """

    in_memory: ClassVar[Any] = None
    """The in-memory store of a test, for the handles that are made while it replaces the real one."""

    __slots__ = ("_memory", "_new_until", "id", "pool", "uid", "word")

    def __init__(self, id: str, pool: str = "default", word: str = "", uid: int = 0) -> None:
        self.id = id
        self.pool = pool
        self.word = word
        self.uid = uid
        self._memory = TaskHandle.in_memory
        self._new_until = time.monotonic() + waiting.NEW_S if uid and self._memory is None else 0.0

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.id, self.pool, self.word, self.uid)

    def __repr__(self) -> str:
        return f"<TaskHandle {self.id} in {self.pool}>"

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            """Raise an error that names the replacement for another task queue's method."""
            raise missing_attribute(self, name, "handle", HANDLE_METHODS)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TaskHandle):
            return NotImplemented
        return (self.id, self.pool) == (other.id, other.pool)

    def __hash__(self) -> int:
        return hash((self.id, self.pool))

    # Seeing

    def status(self) -> TaskStatus | None:
        """The task now, or None if it is gone."""
        record = self._record()
        if record is None:
            return None
        values_of = kinds.of_record(record.kind, "parts.status")
        return status_of(record, values_of(self._broker, record) if values_of else {})

    async def astatus(self) -> TaskStatus | None:
        """The same for async code."""
        return await waiting.in_thread(self.status)

    @property
    def state(self) -> State | None:
        """The current state, or None if the task is gone."""
        record = self._record()
        return None if record is None else State(record.state)

    @property
    def progress(self) -> Progress | None:
        """The progress that the task has reported, or None."""
        record = self._record()
        return None if record is None else progress_of(record)

    # Waiting

    def result(self, timeout: float | None = None) -> Result:
        """Wait for the end, at most `timeout` seconds (None: for ever), and return what the task returned.

        The value is converted by the return annotation, as arguments are by theirs; without one it is plain JSON.

        Raises TaskFailed, TaskCancelled, ResultTimeout, and BadResult for a value that does not fit the annotation.
        Raises TaskGone if the task no longer exists, and TaskSuperseded if a later push replaced it. Raises
        BrokerUnavailable if the store does not answer within that time, or within 2 s. Raises WaitOnEventLoop (a
        SynchronousOnlyOperation of Django) in a thread that runs an event loop: async code waits with `aresult`.
        """
        return cast(Result, self._outcome(self._end(waiting.Patience.of(timeout))))

    async def aresult(self, timeout: float | None = None) -> Result:
        """The same for async code; a waiting coroutine holds no thread."""
        return cast(Result, await self._aoutcome(await self._aend(waiting.Patience.of(timeout))))

    # Acting

    def cancel(self, reason: str = "", *, hard: bool = False) -> bool:
        """Cancel the task; a running one is asked to stop. False if it had already ended.

        With `hard` it is interrupted, and killed with its worker process if it still runs a second later. The first 500
        characters of the reason are kept.
        """
        return self._control("cancel", kept(reason), hard=hard)

    async def acancel(self, reason: str = "", *, hard: bool = False) -> bool:
        """The same for async code."""
        return await waiting.in_thread(partial(self.cancel, reason, hard=hard))

    def retry(self, everything: bool = False) -> bool:
        """Run an ended task again, or start its next attempt now. False if its state does not permit it.

        A map-reduce task continues where it ended: at its failed chunks, or at its reduce. A chain or group continues
        with the failed parts, and with what follows them. With `everything` they start from nothing.
        """
        return self._control("retry", "all" if everything else "")

    async def aretry(self, everything: bool = False) -> bool:
        """The same for async code."""
        return await waiting.in_thread(partial(self.retry, everything))

    def run_now(self) -> bool:
        """Start a postponed task now. False if its state does not permit it."""
        return self._control("run_now")

    async def arun_now(self) -> bool:
        """The same for async code."""
        return await waiting.in_thread(self.run_now)

    def postpone(self, delay: Delay) -> bool:
        """Delay a task that has not started by this many seconds, or until a moment.

        False if its state does not permit it.
        """
        moment = when("delay", delay)
        return self._control("postpone", f"+{moment.delay_ms or 0}" if moment.due_ms is None else moment.due_ms)

    async def apostpone(self, delay: Delay) -> bool:
        """The same for async code."""
        return await waiting.in_thread(partial(self.postpone, delay))

    def _control(self, verb: str, value: str | int = "", *, hard: bool = False) -> bool:
        self._check()
        rows = self._broker.control(self.pool, verb, [self.id], value=value, hard=hard)
        registry.tell_cancelled(self.pool, verb, rows)
        (row,) = rows
        return row.word in ("OK", "REPEAT")

    def _check(self) -> None:
        """Raise BadId unless id and pool are valid; a push has already checked both."""
        check_id(self.id)
        check_lane(self.pool, "name of a pool")

    def _record(self) -> Record | None:
        self._check()
        record: Record | None = self._broker.record(self.pool, self.id)
        return record

    @property
    def _broker(self) -> Any:
        return brokers.get_broker() if self._memory is None else self._memory

    def _end(self, patience: waiting.Patience) -> Record:
        """Wait for the end: the record of the ended task."""
        _refuse_event_loop()
        self._check()
        broker, generation = self._broker, waiting.Generation(self.uid, self.word == AFTER)
        while True:
            is_new = time.monotonic() < self._new_until
            waiting.wait(broker, self.pool, self.id, patience, generation, is_new=is_new)
            if (record := self._ended(broker, generation)) is not None:
                return record

    async def _aend(self, patience: waiting.Patience) -> Record:
        self._check()
        broker, generation = self._broker, waiting.Generation(self.uid, self.word == AFTER)
        while True:
            is_new = time.monotonic() < self._new_until
            await waiting.await_end(broker, self.pool, self.id, patience, generation, is_new=is_new)
            if (record := await waiting.in_thread(partial(self._ended, broker, generation))) is not None:
                return record

    def _ended(self, broker: Any, generation: waiting.Generation) -> Record | None:
        """The record of the ended task; None if it runs again meanwhile."""
        record: Record | None = broker.record(self.pool, self.id)
        if record is None:
            raise TaskGone(id=self.id, pool=self.pool)
        if not generation.is_it(record.push_uid):
            record = broker.last(self.pool, self.id)
            if record is None or not generation.is_it(record.push_uid):
                raise TaskSuperseded(id=self.id)
        return record if record.is_over else None

    def _outcome(self, record: Record) -> Any:
        """What an ended task returned. Raises TaskFailed, TaskCancelled or BadResult."""
        if record.state != State.SUCCEEDED:
            raise raised_by(record)
        if (value_of := kinds.of_record(record.kind, "results")) is not None:
            return value_of(self._broker, record)
        return type_of(record.kind, record.name).decode(record.result)

    async def _aoutcome(self, record: Record) -> Any:
        if kinds.of_record(record.kind, "results"):  # it may read the names of parts from the store
            return await waiting.in_thread(partial(self._outcome, record))
        return self._outcome(record)


def get(id: str) -> TaskHandle[Any] | None:
    """The handle of a task in any pool, or None if the id does not exist. Raises BadId for an invalid id."""
    found = brokers.get_broker().find(check_id(id))
    return None if found is None else TaskHandle(id, found[0])


async def aget(id: str) -> TaskHandle[Any] | None:
    """The same for async code."""
    return await waiting.in_thread(partial(get, id))


def _refuse_event_loop() -> None:
    """Raise WaitOnEventLoop if waiting would block an event loop; DJANGO_ALLOW_ASYNC_UNSAFE permits it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    if not os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE"):
        raise WaitOnEventLoop()
