"""Contracts: the plain data that the engine's components exchange. `queueops.model.ports` says by which calls."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum

import msgspec

from queueops.model.endings import Ended
from queueops.model.leases import DEFAULT_LANE as DEFAULT_LANE
from queueops.model.leases import Lease as Lease
from queueops.model.pool_commands import Command as Command
from queueops.model.pool_commands import Posted as Posted
from queueops.model.pool_commands import Told as Told


class Conflict(StrEnum):
    """What a push does if its id belongs to a task that has not ended. An ended task is always run again.

    SKIP: as IGNORE; a part of a composite is left out, instead of joining that task.
    NEW: the id was made for this push alone. A task that has it comes from this very push, sent before.
    DEBOUNCE: a task that has not begun is replaced; what has begun is followed by this one.
    """

    NEW = "new"
    IGNORE = "ignore"
    REJECT = "reject"
    REPLACE = "replace"
    REPLACE_POSTPONED = "replace_postponed"
    RUN_AFTER = "run_after"
    SKIP = "skip"
    DEBOUNCE = "debounce"


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
    ``delay_ms`` is the back-off before the next attempt; -1 means that there is none. A RELEASE of a task that was not
    started has -1. A CRASH that is not charged has -n. The number n is the task's count of shared crashes. ``counted``
    makes a RESTART count as an attempt. ``lane`` is that of the lease, as far as it is known: a success may then cost
    the store less. ``expected``: the task names this error among those that it may fail with. It has no fingerprint, so
    no list of errors has it. ``is_open``: the store reads the value of a success, which is therefore not encrypted as a
    whole.
    """

    id: str
    fence: int
    outcome: Outcome
    value: bytes = b""
    delay_ms: int = 0
    fingerprint: str = ""
    title: str = ""
    counted: bool = False
    lane: str = ""
    expected: bool = False
    is_open: bool = False


class Extend(msgspec.Struct):
    """Renew a lease. ``left_ms`` limits it to the task's own time limit; -1 means that there is none."""

    id: str
    fence: int
    left_ms: int = -1


class RoundTrip(msgspec.Struct, frozen=True, kw_only=True):
    """What one round trip of a worker carries: settlements, renewals, metrics, and what it asks for.

    It claims up to ``want`` tasks. An ``idle`` worker is woken when a task comes later. It takes the commands that
    result for other pools, and ``take`` others; with -1 it takes none. ``lanes`` are patterns of the lanes that it
    serves; without any it serves all of them. One after a ``^`` has lanes that it leaves alone. ``kinds`` are those of
    records that it takes, or with a `!` those that it leaves. ``met`` are lanes that matched before: where many lanes
    are ready, the store looks at these alone.
    """

    settle: Sequence[Settlement] = ()
    extend: Sequence[Extend] = ()
    want: int = 0
    idle: bool = False
    metrics: Mapping[str, int] | None = None
    take: int = -1
    lanes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    met: Collection[str] = ()


class Exchange(msgspec.Struct):
    """The reply of one round trip: new leases, a word for each settlement, and when to come again.

    ``lost`` are the extended leases that this worker no longer holds. ``cancels`` are leases with a requested cancel,
    ``hard`` the leases to be interrupted. ``ended`` are the composites that this round trip ended. ``sleep_ms`` is
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
