"""Error classes of QueueOps, with one root. The first paragraph of a class's docstring is its message, with fields.

    raise PayloadTooLarge(what="arguments", size=2_000_000, limit=1_048_576)

The fields are attributes of the error, so that a handler reads `error.limit` and never parses the text.
"""

from __future__ import annotations

import inspect
from typing import Any, Self

from queueops.errors.known_words import advice as advice


class Explained(BaseException):
    """An error whose message is its docstring, filled with its fields."""

    def __init__(self, text: str | None = None, /, **fields: Any) -> None:
        self.__dict__.update(fields)
        self.fields = fields
        super().__init__(text if text is not None else self._message(fields))

    @classmethod
    def template(cls) -> str:
        """The message, with the fields in braces."""
        return inspect.cleandoc(cls.__doc__ or cls.__name__).split("\n\n", 1)[0].replace("\n", " ")

    @staticmethod
    def tidy(text: str) -> str:
        """The filled template, with one end: a cancel needs no reason, and an advice may be a question."""
        text = text.removesuffix(": ")
        return text[:-1] if text.endswith("?.") else text

    @classmethod
    def _message(cls, fields: dict[str, Any]) -> str:
        return cls.tidy(cls.template().format_map(_Lenient(fields)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), str(self), self.fields)


class _Lenient(dict[str, Any]):
    """An error must not fail while it is made: a field that is missing is shown as a question mark."""

    def __missing__(self, key: str) -> str:
        return "?"


def _rebuild(cls: type[Explained], text: str, fields: dict[str, Any]) -> Explained:
    return cls(text, **fields)


class QueueOpsError(Explained, Exception):
    """QueueOps could not do what it was asked to."""

    @classmethod
    def unwrap(cls, error: BaseException) -> Self | None:
        """The error itself or the nearest one in its causes that is of this class."""
        seen: BaseException | None = error
        while seen is not None and not isinstance(seen, cls):
            seen = seen.__cause__
        return seen


# The settings and the store


class UnknownSetting(QueueOpsError):
    """There is no setting {place}{advice}"""

    place: str
    advice: str


class BadSetting(QueueOpsError):
    """The setting {place} is {value}, but it must be {expected}."""

    place: str
    value: str
    expected: str


class BadUrl(QueueOpsError, ValueError):
    """The URL {url!r} of the store is not valid: {reason}."""

    url: str
    reason: str


class BrokerUnavailable(QueueOpsError):
    """The store at {url} did not answer (attempts: {attempts}): {reason}. Is it running, and is its URL right?"""

    url: str
    attempts: int
    reason: str


class StoreFull(QueueOpsError):
    """Redis is out of memory and refuses writes: {reason}. Add memory, or wait until workers have drained the queue.

    Nothing was written.
    """

    reason: str


class NotDurable(QueueOpsError):
    """The push of {what} was written, but {wanted} did not confirm it as durable within {seconds} s."""

    what: str
    wanted: str
    seconds: float


class EmbeddedFailed(QueueOpsError):
    """The embedded server in {directory} did not {verb}: {reason}"""

    directory: str
    verb: str
    reason: str


class BrokenPool(QueueOpsError):
    """The pool {pool} is broken: {keys}. Another program wrote there: delete or restore the key."""

    pool: str
    keys: str


class BadReply(QueueOpsError):
    """The script {script!r} answered {reply!r}, unknown to this version. Run one version in all processes."""

    script: str
    reply: object


# What a producer may do wrong


class BadArguments(QueueOpsError, TypeError):
    """{name}() cannot be called with these arguments: {reason}"""

    name: str
    reason: str


class NotEncodable(QueueOpsError, TypeError):
    """The {what} of {name} cannot be stored: {path} is {type}. {advice}"""

    what: str
    name: str
    path: str
    type: str  # with its article
    advice: str


class NotDecodable(QueueOpsError, ValueError):
    """The stored {what} of {name} cannot be read: {reason}"""

    what: str
    name: str
    reason: str


class PayloadTooLarge(QueueOpsError, ValueError):
    """The {what} of {name} came to {size} bytes, the limit is {limit}. Store the data elsewhere, pass a reference."""

    what: str
    name: str
    size: int
    limit: int


class BadChunks(QueueOpsError, TypeError):
    """{name}.map() must yield or return its chunks, but it returned {type}."""

    name: str
    type: str  # with its article


class TooManyChunks(QueueOpsError, ValueError):
    """{name}.map() gave more than {limit} chunks. Put several pieces of work into one chunk."""

    name: str
    limit: int


class ChunksLost(QueueOpsError, LookupError):
    """The task {id} has lost the records of its chunks {numbers}. Drop them, or restart the task from its map."""

    id: str
    numbers: list[int]


class BadId(QueueOpsError, ValueError):
    """{id!r} is not a valid {what}: use a text of 1 to {most} letters, digits and any of . _ : @ / = + -"""

    id: object
    what: str
    most: int


class BadOption(QueueOpsError, ValueError):
    """The option {name} is {value!r}, but it must be {expected}."""

    name: str
    value: object
    expected: str


class UnknownOption(QueueOpsError, TypeError):
    """{what} has no option {name!r}{advice}"""

    what: str
    name: str
    advice: str


class DuplicateName(QueueOpsError, ValueError):
    """Two tasks are named {name!r}: {first} and {second}. Give one of them another name=."""

    name: str
    first: str
    second: str


class BadDependency(QueueOpsError, TypeError):
    """The dependency {dependency} of {name} cannot be used: {reason}"""

    dependency: str
    name: str
    reason: str


class IdInUse(QueueOpsError):
    """A task {id!r} already exists in the state {state!r}, and on_conflict is "reject". Push with another id."""

    id: str
    state: str


class BadSchedule(QueueOpsError, ValueError):
    """The schedule {line!r} is not valid: {reason}"""

    line: object
    reason: str


class BadZone(QueueOpsError, ValueError):
    """There is no time zone {zone!r}; write a name such as "UTC" or "Europe/Berlin"."""

    zone: str


class ScheduleInUse(QueueOpsError):
    """A schedule {id!r} already exists in the pool {pool}. Use another id, or change that schedule."""

    id: str
    pool: str


class ScheduleChanged(QueueOpsError):
    """Another user or process has changed the schedule {id!r} meanwhile. Reload it, and repeat the change."""

    id: str


class ScheduleFromCode(QueueOpsError):
    """The schedule {id!r} is declared in code. Change it there; here it can be paused, resumed and run."""

    id: str


class UnknownSchedule(QueueOpsError, LookupError):
    """There is no schedule {id!r}."""

    id: str


class UnknownTask(QueueOpsError, LookupError):
    """No task is named {name!r}{advice}"""

    name: str
    advice: str


class UnknownLane(QueueOpsError, LookupError):
    """The pool {pool} has no lane {lane!r}{advice}"""

    pool: str
    lane: str
    advice: str


class TooMany(QueueOpsError, ValueError):
    """{count} {what} are too many for one call: the limit is {limit}. Split the call."""

    count: int
    what: str
    limit: int


class FilterError(QueueOpsError, ValueError):
    """The filter is not valid: {reason}"""

    reason: str


class OutsideTask(QueueOpsError, RuntimeError):
    """{what} works only inside a running task."""

    what: str


# What a waiter learns


class TaskFailed(QueueOpsError):
    """The task {id} failed: {type}: {message}

    `traceback` is the text of its last attempt's traceback, as far as it was kept.
    """

    id: str
    type: str
    message: str
    traceback: str


class TaskCancelled(QueueOpsError):
    """The task {id} was cancelled: {reason}"""

    id: str
    reason: str


class ResultTimeout(QueueOpsError, TimeoutError):
    """The task {id} did not end within {seconds} s; it is {state}. {reason}"""

    id: str
    seconds: float
    state: str
    reason: str


class TaskGone(QueueOpsError, LookupError):
    """The pool {pool} has no task {id}: it was never pushed there, waits for a commit, was deleted, or expired."""

    id: str
    pool: str


class TaskSuperseded(TaskGone):
    """The task {id} was replaced by a later push of the same id, and its own outcome is not kept."""


# What a worker learns


class StaleLease(QueueOpsError):
    """The lease of {id} with fence {fence} is no longer valid: it ended, or was taken. Nothing was written."""

    id: str
    fence: int


class Interrupt(Explained, BaseException):
    """The task is interrupted.

    Not an `Exception`, so that a task's own `except Exception` does not swallow it. It is raised between two byte codes
    of Python: it cannot interrupt a system call or a C extension; the hard limit ends those, with their process.
    """


class SoftTimeout(Interrupt):
    """The task ran longer than its timeout of {seconds} s."""

    seconds: float


class Cancelled(Interrupt):
    """The task was cancelled while it ran: {reason}"""

    reason: str


class Restart(Interrupt):
    """The task asked to be started again in {seconds} s.

    `counted` says whether this start costs an attempt.
    """

    seconds: float
    counted: bool


class Shutdown(Interrupt):
    """The worker stops, and the task goes back to its lane."""
