"""A pushed task, seen from outside: its state, its result, and what can be done to it."""

from __future__ import annotations

from typing import Any, Generic, TypeVar, cast

import msgspec

from queueops import waiting
from queueops.durations import Delay, when
from queueops.encoding import decode_result
from queueops.errors import TaskGone, TaskSuperseded
from queueops.failures import error_of, raised_by
from queueops.ids import check_id, check_lane
from queueops.reasons import kept
from queueops.records import Record
from queueops.redis import broker as brokers
from queueops.states import State

Result = TypeVar("Result", covariant=True)
MAPREDUCE, AFTER = "mapreduce", "AFTER"


class Progress(msgspec.Struct, frozen=True):
    """How far a task is; `total` is None when it did not say of how much."""

    done: float
    total: float | None = None

    @property
    def share(self) -> float | None:
        """From 0 to 1, or None when the total is unknown."""
        return min(1.0, self.done / self.total) if self.total else None


class TaskStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A task as it was at one moment. Times are milliseconds of the epoch; `attempt` counts those that failed.

    `chunks` counts the chunks of a map-reduce task by their state (pending, active, errored, done, failed).
    """

    id: str
    pool: str
    name: str
    state: State
    priority: int
    attempt: int
    retries: int
    crashes: int
    created_ms: int
    due_ms: int | None
    begun_ms: int | None
    ended_ms: int | None
    worker: str
    progress: Progress | None
    reason: str
    error: str
    tags: tuple[str, ...]
    chunks: dict[str, int] | None = None

    @property
    def is_over(self) -> bool:
        """Whether the task has ended."""
        return self.state in (State.SUCCEEDED, State.FAILED, State.CANCELLED)


class TaskHandle(Generic[Result]):
    """The reference to a task. `word` says what the push did: OK, EXISTS (there was one of this id), REPLACED, AFTER.

    Handles are equal when they mean the same id, and may be made from an id and a pool that were stored anywhere; with
    what can be none, every use raises BadId.
    `uid` is the generation of that push (with AFTER, of the one before it): its result is waited for, also when
    somebody has it run again, and no later push's. Without one, and in all else, whatever has the id is meant.
    """

    __slots__ = ("id", "pool", "uid", "word")

    def __init__(self, id: str, pool: str = "default", word: str = "", uid: int = 0) -> None:
        self.id = id
        self.pool = pool
        self.word = word
        self.uid = uid

    def __repr__(self) -> str:
        return f"<TaskHandle {self.id} in {self.pool}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TaskHandle):
            return NotImplemented
        return (self.id, self.pool) == (other.id, other.pool)

    def __hash__(self) -> int:
        return hash((self.id, self.pool))

    # Seeing

    def status(self) -> TaskStatus | None:
        """The task now, or None when it is gone."""
        record = self._record()
        if record is None:
            return None
        chunked = record.kind == MAPREDUCE
        return status_of(record, brokers.get_broker().chunk_counts(self.pool, self.id) if chunked else None)

    @property
    def state(self) -> State | None:
        """The state now, or None when the task is gone."""
        record = self._record()
        return None if record is None else State(record.state)

    @property
    def progress(self) -> Progress | None:
        """What the task said of its progress, or None when it said nothing."""
        record = self._record()
        return None if record is None else _progress(record)

    # Waiting

    def result(self, timeout: float | None = None) -> Result:
        """Wait for the end, at most `timeout` seconds (None: for ever), and return what the task returned.

        The value is plain JSON data: a tuple comes back as a list. Raises TaskFailed, TaskCancelled, ResultTimeout,
        TaskGone when there is no such task any more, or TaskSuperseded when a later push has its place; and
        BrokerUnavailable when the store does not answer within that time, or within 2 s.
        """
        patience = waiting.Patience.of(timeout)
        self._check()
        while True:
            waiting.wait(self.pool, self.id, patience, self._generation)
            if (record := self._ended()) is not None:
                return cast(Result, outcome(record))

    async def aresult(self, timeout: float | None = None) -> Result:
        """The same for async code; a waiting coroutine holds no thread."""
        patience = waiting.Patience.of(timeout)
        self._check()
        while True:
            await waiting.await_end(self.pool, self.id, patience, self._generation)
            if (record := await waiting.in_thread(self._ended)) is not None:
                return cast(Result, outcome(record))

    # Acting

    def cancel(self, reason: str = "", *, hard: bool = False) -> bool:
        """Cancel the task; a running one is asked to stop. False when there was nothing to cancel any more.

        With `hard` it is interrupted, and killed with its worker process when it still runs a second later. Of the
        reason 500 characters are kept.
        """
        return self._control("cancel", kept(reason), hard=hard)

    def retry(self, everything: bool = False) -> bool:
        """Run an ended task again, or one that waits for its next attempt at once. False when its state forbids it.

        A map-reduce task goes on where it ended: at its failed chunks, or at its reduce; a chain or group at what
        failed, and with what follows from it. With `everything` they begin anew.
        """
        return self._control("retry", "all" if everything else "")

    def run_now(self) -> bool:
        """Start a postponed task at once. False when its state forbids it."""
        return self._control("run_now")

    def postpone(self, delay: Delay) -> bool:
        """Let a task that has not begun wait so many seconds, or until a moment. False when its state forbids it."""
        moment = when("delay", delay)
        return self._control("postpone", f"+{moment.delay_ms or 0}" if moment.due_ms is None else moment.due_ms)

    def _control(self, verb: str, value: str | int = "", *, hard: bool = False) -> bool:
        self._check()
        (row,) = brokers.get_broker().control(self.pool, verb, [self.id], value=value, hard=hard)
        return row.word in ("OK", "REPEAT")

    def _check(self) -> None:
        """Raise BadId for what can be no task's id or no pool's name; a push has made sure of both."""
        check_id(self.id)
        check_lane(self.pool, "name of a pool")

    def _record(self) -> Record | None:
        self._check()
        return brokers.get_broker().record(self.pool, self.id)

    @property
    def _generation(self) -> waiting.Generation:
        return waiting.Generation(self.uid, self.word == AFTER)

    def _ended(self) -> Record | None:
        """The record of the ended task; None when it runs again meanwhile."""
        record = self._record()
        if record is None:
            raise TaskGone(id=self.id, pool=self.pool)
        if not self._generation.is_it(record.push_uid):
            record = brokers.get_broker().last(self.pool, self.id)
            if record is None or not self._generation.is_it(record.push_uid):
                raise TaskSuperseded(id=self.id)
        return record if record.is_over else None


def get(id: str) -> TaskHandle[Any] | None:
    """The handle of a task in any pool, or None when there is none of this id. Raises BadId for what can be no id."""
    found = brokers.get_broker().find(check_id(id))
    return None if found is None else TaskHandle(id, found[0])


def outcome(record: Record) -> Any:
    """What an ended task returned. Raises TaskFailed or TaskCancelled."""
    if record.state == State.SUCCEEDED:
        return decode_result(record.name, record.result)
    raise raised_by(record)


def status_of(record: Record, chunks: dict[str, int] | None = None) -> TaskStatus:
    """What a record says, in public words."""
    return TaskStatus(
        id=record.id,
        pool=record.pool,
        name=record.name,
        state=State(record.state),
        priority=record.priority,
        attempt=record.attempt,
        retries=record.retries,
        crashes=record.crashes,
        created_ms=record.created,
        due_ms=record.due,
        begun_ms=record.begun,
        ended_ms=record.ended,
        worker=record.worker,
        progress=_progress(record),
        reason=record.reason,
        error=error_of(record).message if record.error else "",
        tags=record.tags,
        chunks=chunks,
    )


def _progress(record: Record) -> Progress | None:
    return None if record.progress is None else Progress(record.progress, record.total)
