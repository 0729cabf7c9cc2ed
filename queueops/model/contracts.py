"""Contracts between the engine's components, and the plain data that they exchange.

A task is data at every stage, never an executable object. The broker executes nothing, the worker stores nothing, the
storage knows no execution logic. They only interact through these declarations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from queueops.model.endings import Ended
from queueops.model.leases import DEFAULT_LANE as DEFAULT_LANE
from queueops.model.leases import Lease as Lease
from queueops.model.outbox_messages import Command as Command
from queueops.model.outbox_messages import Posted as Posted
from queueops.model.outbox_messages import Told as Told

if TYPE_CHECKING:
    from queueops.model.records import Record


class Conflict(StrEnum):
    """What a push does if its id belongs to a task that has not ended. An ended task is always run again.

    NEW: the id was made for this push alone. A task that has it comes from this very push, sent before.
    """

    NEW = "new"
    IGNORE = "ignore"
    REJECT = "reject"
    REPLACE = "replace"
    REPLACE_POSTPONED = "replace_postponed"
    RUN_AFTER = "run_after"


class Push(msgspec.Struct, kw_only=True):
    """A task to be created. Times are in milliseconds; ``args`` is encoded JSON, empty without arguments.

    ``own`` are fields of the record that only the task's kind knows.
    """

    id: str
    name: str
    kind: str = "task"
    pool: str = "default"
    lane: str = DEFAULT_LANE
    priority: int = 0
    args: bytes = b""
    due: int | None = None
    delay_ms: int | None = None
    retries: int = 0
    retry: str = ""
    timeout_ms: int | None = None
    tags: tuple[str, ...] = ()
    keep_ms: int | None = None
    root: str = ""
    parent_id: str = ""
    parent_uid: int = 0
    parent_pool: str = ""
    trace: str = ""
    meta: bytes = b""
    own: tuple[tuple[str, str | int], ...] = ()
    conflict: Conflict = Conflict.IGNORE
    token: str = ""


class LeaseRef(msgspec.Struct, frozen=True):
    """The lease of a running task. A push under it is refused once it is no longer current."""

    pool: str
    id: str
    fence: int


class Pushed(msgspec.Struct, frozen=True):
    """The answer to one push: OK (created), REPEAT (this very push came before), EXISTS, REPLACED or AFTER.

    ``created_ms`` is the broker's time of an OK; 0 with the other words.
    """

    id: str
    uid: int
    word: str
    created_ms: int = 0


class Node(msgspec.Struct):
    """One task of a composite's tree, which is given from the root down.

    ``parent`` is its parent's index in that list, -1 for the root; ``order`` is its index among its siblings.
    """

    push: Push
    parent: int = -1
    order: int = 0


class Outcome(StrEnum):
    """How a lease ends. RELEASE and UNKNOWN are not charged to the task; CRASH is counted apart from attempts."""

    SUCCESS = "success"
    ERROR = "error"
    TIMEOUT = "timeout"
    RESTART = "restart"
    RELEASE = "release"
    UNKNOWN = "unknown"
    CANCEL = "cancel"
    CRASH = "crash"
    QUARANTINE = "quarantine"


class Settlement(msgspec.Struct):
    """The end of one lease.

    ``value`` is the encoded result (SUCCESS), the encoded error (ERROR, TIMEOUT, CRASH) or a reason in words.
    ``delay_ms`` is the back-off before the next attempt; -1 means that there is none. For a CRASH that is not charged
    to the task it is -n, where n is how often that happened. ``counted`` makes a RESTART count as an attempt.
    """

    id: str
    fence: int
    outcome: Outcome
    value: bytes = b""
    delay_ms: int = 0
    fingerprint: str = ""
    title: str = ""
    counted: bool = False


class Extend(msgspec.Struct):
    """Renew a lease. ``left_ms`` limits it to the task's own time limit; -1 means that there is none."""

    id: str
    fence: int
    left_ms: int = -1


class RoundTrip(msgspec.Struct, frozen=True, kw_only=True):
    """What one round trip of a worker carries: settlements, renewals, metrics, and what it asks for.

    It claims up to ``want`` tasks. An ``idle`` worker is woken when a task comes later. It takes the commands that
    result for other pools, and ``take`` others; with -1 it takes none.
    """

    settle: Sequence[Settlement] = ()
    extend: Sequence[Extend] = ()
    want: int = 0
    idle: bool = False
    metrics: Mapping[str, int] | None = None
    take: int = -1


class Exchange(msgspec.Struct):
    """The reply of one round trip: new leases, a word for each settlement, and when to come again.

    ``lost`` are the extended leases that this worker no longer holds. ``cancels`` are those with a requested cancel,
    ``hard`` those of them to be interrupted. ``ended`` are the composites that this round trip ended. ``sleep_ms`` is
    the time until the agenda has something for this pool, ``ready`` whether more could be claimed now. ``commands``
    were taken. ``now_ms`` is the broker's own time.
    """

    leases: list[Lease]
    settled: list[str]
    lost: list[str]
    cancels: list[tuple[str, str]]
    sleep_ms: int
    ready: bool
    commands: list[Command] = []
    now_ms: int = 0
    hard: list[str] = []
    ended: list[Ended] = []


class TickReport(msgspec.Struct):
    """The result of one tick: the handled entries of the agenda, by outcome, and the time to the next entry."""

    acted: dict[str, int]
    sleep_ms: int


class Row(msgspec.Struct, frozen=True):
    """The result of an operator's action on one task: OK, REPEAT, REFUSED, GONE or STALE, and its state now.

    A REPEAT without a detail was done by this action before, and the reply was lost. A detail says why nothing changed.
    """

    id: str
    word: str
    state: str
    detail: str = ""


class ChunkRow(msgspec.Struct, frozen=True):
    """One chunk of a map-reduce task: its number, its state ('' = gone) and the requested fields."""

    number: int
    state: str
    fields: dict[str, bytes | None]


class ChunkAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an action on chunks: how many changed, how many remain of a whole state, and the states.

    ``state`` is the task's, ``refused`` those of refused chunks by number ('' = gone). ``unfit`` counts chunks of a
    whole state that kept their data: it has no fields or would be too long.
    """

    changed: int
    left: int
    state: str
    refused: dict[int, str]
    unfit: int = 0


class Pushes(Protocol):
    """Batches of tasks for one pool, of which several may be pending."""

    def send(self, pushes: Sequence[Push]) -> None:
        """Send one batch."""

    def receive(self) -> list[Pushed]:
        """The results of the oldest pending batch; raises BrokerUnavailable, StoreFull or NotDurable."""

    def close(self) -> None:
        """Close the connection; pending batches may still arrive."""


class Producer(Protocol):
    """Component that creates tasks."""

    def push(self, pushes: Sequence[Push], *, durable: bool = False, under: LeaseRef | None = None) -> list[Pushed]:
        """Create tasks, all of one call in the given order; raises BrokerUnavailable, StoreFull or NotDurable.

        DurabilityUnsupported is raised before anything is written.

        ``under`` is the lease of the pushing task. Raises LeaseLost, and creates nothing, if it has ended.
        """

    def pushes(self, pool: str, *, durable: bool = False, under: LeaseRef | None = None) -> Pushes:
        """The same for many batches to one pool, of which the next may be sent before the last is answered."""

    def plant(self, nodes: Sequence[Node], *, durable: bool = False, under: LeaseRef | None = None) -> Pushed:
        """Create the tree of a composite and start it, or nothing; the same errors, and PartInUse, PlantingLost."""


class Exchanges(Protocol):
    """A worker's round trips with one pool, of which several may be pending. After an error it is closed."""

    def send(self, trip: RoundTrip) -> None:
        """Send one exchange; raises BrokerUnavailable or StoreFull."""

    def receive(self) -> Exchange:
        """The reply of the oldest pending exchange; raises BrokerUnavailable or StoreFull."""

    def close(self) -> None:
        """Close the connection."""


class Broker(Producer, Protocol):
    """Component that hands tasks to workers and takes their outcomes. It executes nothing.

    It is ``spread`` if pools may be on several servers, of which one may not answer while others do.
    """

    @property
    def spread(self) -> bool:
        """Whether pools may be on several servers."""

    def exchange(self, pool: str, worker: str, trip: RoundTrip) -> Exchange:
        """Settle, renew, promote what is due and claim tasks in one round trip."""

    def post(self, pool: str, *, told: Sequence[Told] = (), apply: Sequence[Command] = (), take: int = -1) -> Posted:
        """Report the outcome of this pool's commands, apply commands for its tasks, take others as `exchange` does."""

    def declare_lanes(self, pool: str) -> None:
        """Before the first claim: apply the settings' limits to lanes, unless an operator has set some."""

    def exchanges(self, pool: str, worker: str) -> Exchanges:
        """The same, for a worker that sends the next exchange while one is pending."""

    def note(
        self,
        pool: str,
        task_id: str,
        fence: int,
        *,
        done: float | None = None,
        total: float | None = None,
        line: bytes = b"",
        number: int = 0,
    ) -> str:
        """Record progress or a log line under the fence; returns OK, STALE or GONE.

        A repeated line of a lease, with the same ``number``, is not written twice.
        """

    def advance(self, pool: str, task_id: str, fence: int, done: float, total: float | None = None) -> str:
        """Record the progress of a part of a composite, which counts it; returns OK, STALE or GONE."""

    def recover(
        self, pool: str, worker: str, running: Mapping[str, Settlement], keep: Collection[tuple[str, int]] = ()
    ) -> int:
        """Take back the leases of a worker: those in ``running`` as judged, the others without a charge.

        ``keep`` are (id, fence) that a live worker holds. It lost a reply, and with it leases that it does not know of.
        """

    def beat(self, pool: str, worker: str, fields: Mapping[str, str | int | bytes]) -> None:
        """Record a heartbeat: the worker is alive, and what it is doing."""

    def leave(self, pool: str, worker: str) -> None:
        """Remove the worker from the registry at its orderly end."""


class Storage(Protocol):
    """Component that stores tasks. It contains no execution logic."""

    def record(self, pool: str, task_id: str) -> Record | None:
        """The record of a task, or None if there is none."""

    def retry_policy(self, pool: str, task_id: str) -> tuple[str, int]:
        """The retry policy of a task or a chunk, and how many of its attempts have failed."""

    def log(self, pool: str, task_id: str) -> list[bytes]:
        """The lines of a task's log, at most the last 100, oldest first: JSON documents."""

    def find(self, task_id: str) -> tuple[str, Record] | None:
        """The pool that holds this id, and its record."""

    def last(self, pool: str, task_id: str) -> Record | None:
        """The previous generation; kept for a while if a caller waited for its end."""

    def wait(self, pool: str, task_id: str, uid: int = 0, *, after: bool = False) -> str:
        """Request a message at the end of a generation (0: any), or of the one after it.

        Returns the current state, an empty string if there is no such task, or `superseded`.
        """


class Handler(Protocol):
    """Runs the tasks of one name; kinds register their own handlers."""

    name: str
    kind: str
    is_async: bool

    def run(self, context: Any) -> Any:
        """Run the task in ``context`` and return its result (a coroutine when ``is_async``)."""


class Waker(Protocol):
    """A blocking wait for wake-up tokens, on a dedicated connection."""

    def fileno(self) -> int:
        """The descriptor to select on."""

    def read(self) -> Iterable[str | Lease]:
        """The tokens that arrived: ``work``, ``commands``, ``cancel <id>``, ``quiet``, ``stop``, or a task's lease."""

    def arm(self) -> None:
        """Wait for the next tokens, after a ``read``: tokens that came in between are not lost."""

    def close(self) -> None:
        """Close the connection."""
