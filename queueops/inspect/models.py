"""What the questions of this package answer with: plain, frozen data, ready for a page, a terminal or JSON.

Times are epoch milliseconds on Redis' clock. Text that came from a task is hostile: who shows it escapes it.
"""

from __future__ import annotations

from typing import ClassVar

from queueops.inspect.answer_base import Answer, Failure
from queueops.inspect.broken import Broken
from queueops.inspect.chunk_lane import ChunkLane as ChunkLane
from queueops.model.states import CONTAINERS


class TaskFacts(Answer, frozen=True, kw_only=True):
    """What a list and a task's own page both show."""

    TEXTS_OF_TASKS: ClassVar[tuple[str, ...]] = ("reason",)

    id: str
    pool: str
    name: str
    kind: str
    state: str
    lane: str
    priority: int
    attempt: int  # attempts that ended in an error or a timeout
    retries: int
    crashes: int
    created_ms: int
    entered_ms: int  # when it entered its state
    due_ms: int | None = None
    args: str = ""  # a short, redacted preview
    worker: str = ""
    progress: float | None = None
    total: float | None = None
    tags: tuple[str, ...] = ()
    reason: str = ""
    allowed: tuple[str, ...] = ()  # verbs of queueops.control that its kind and its state allow

    @property
    def is_claimed(self) -> bool:
        """Whether workers claim it: a chain and a group have no lane, no priority and no attempts."""
        return self.kind not in CONTAINERS


class TaskRow(TaskFacts, frozen=True, kw_only=True):
    """One line of a task list."""

    TEXTS: ClassVar = ("error",)

    error: str = ""  # one line
    parent: str = ""  # what it is part of


class TaskPage(Answer, frozen=True, kw_only=True):
    """A page of a list; `next` continues it, empty at the end."""

    rows: tuple[TaskRow, ...]
    next: str = ""
    total: int = 0  # of the index that was walked
    exact: bool = True  # that index holds just the tasks that match; otherwise `total` is an upper bound
    partial: bool = False  # the budget ended before the page was full; `next` goes on from there
    broken: tuple[Broken, ...] = ()  # pools that could not be read in full


class Part(Answer, frozen=True, kw_only=True):
    """One part of a chain, a group or an iterator; `task` is None where it is gone, or its pool does not answer."""

    id: str
    pool: str
    number: int | None = None  # its place from 1 on; an iterator's tasks have none
    task: TaskRow | None = None
    begun_ms: int | None = None
    ended_ms: int | None = None
    elsewhere: bool = False  # it is in another pool
    silent: str = ""  # why its pool did not answer
    branch: Branch | None = None  # its own parts, if it may have any


class Branch(Answer, frozen=True, kw_only=True):
    """The parts of one task, in their order, as far as they are shown."""

    total: int | None = None  # None of an iterator, which does not know how many there will be
    open: int = 0  # those that have not ended; of an iterator those that it has begun
    first: int = 0  # so many stand before the first row
    next: str = ""  # where those behind the last row begin; empty when there are none
    counts: tuple[tuple[str, int], ...] = ()  # by state; not of too many, but for an iterator's that have ended
    rows: tuple[Part, ...] = ()

    @property
    def ended(self) -> int:
        """How many have ended."""
        return max(0, (self.total or 0) - self.open)

    @property
    def behind(self) -> int | None:
        """How many stand behind the last row; None where the number is not known."""
        return None if self.total is None else max(0, self.total - self.first - len(self.rows))


class Above(Answer, frozen=True, kw_only=True):
    """What a task is part of; without a name where it is in another pool."""

    id: str
    pool: str
    name: str = ""
    kind: str = ""
    state: str = ""


class Tree(Answer, frozen=True, kw_only=True):
    """A task's parts, with theirs, and what it is part of itself, from near to far."""

    root: Branch | None = None
    above: tuple[Above, ...] = ()


class CommandRow(Answer, frozen=True, kw_only=True):
    """What a transition in `pool` means for the task `target` of the pool `to`, and is not told there yet."""

    TEXTS_OF_TASKS: ClassVar = ("error",)

    id: str
    pool: str
    verb: str
    sender: str
    to: str
    target: str
    generation: str  # of the parent of the two
    round: int  # of its retries
    tries: int
    created_ms: int
    at_ms: int  # when it is due, when its lock ends, or when it was given up
    error: str = ""  # why it could not be applied the last time
    size: int = 0  # bytes of results and errors that it carries


class CommandPage(Answer, frozen=True, kw_only=True):
    """Commands, the oldest first, and how many there are in all; `next` continues them, empty at the end."""

    rows: tuple[CommandRow, ...]
    due: int = 0
    locked: int = 0
    dead: int = 0
    next: str = ""
    broken: tuple[Broken, ...] = ()  # pools that could not be read in full


class Attempt(Answer, frozen=True, kw_only=True):
    """One run of a task that has ended, or the one that runs now (`ended_ms` is None)."""

    number: int
    begun_ms: int | None
    ended_ms: int | None
    worker: str
    kind: str  # error, timeout, crash, release, restart, cancelled, succeeded, running
    error: Failure | None = None


class LogLine(Answer, frozen=True, kw_only=True):
    """A line of the task's own log."""

    TEXTS: ClassVar = ("text",)

    t: int
    kind: str
    text: str


class Moment(Answer, frozen=True, kw_only=True):
    """A change of state, for the timeline."""

    TEXTS: ClassVar = ("text",)

    t: int
    state: str
    text: str


class Beside(Answer, frozen=True, kw_only=True):
    """The part of a chain before another one, or behind it."""

    id: str
    name: str
    state: str


class TaskDetail(TaskFacts, frozen=True, kw_only=True):
    """Everything that is known about one task."""

    TEXTS_OF_TASKS: ClassVar = ("reason", "cancel_requested")

    args_json: str
    result_json: str
    error: Failure | None = None
    begun_ms: int | None = None
    first_begun_ms: int | None = None  # of a map-reduce task: when its map began for the first time
    ended_ms: int | None = None
    deadline_ms: int | None = None  # the lease's end, or the end of retention
    fence: int = 0
    uid: int = 0
    timeout_ms: int | None = None
    retry: str = ""
    keep_ms: int | None = None
    parent: str = ""
    parent_pool: str = ""
    parent_uid: int = 0
    parent_name: str = ""  # of a parent in the same pool, while it is there
    parent_state: str = ""
    retried_by: str = ""  # the chain or group that runs this part of it again; it can't be retried by itself
    number: int | None = None  # its place there from 1 on
    siblings: int | None = None  # how many parts that has
    before: Beside | None = None  # the part before it in its chain
    behind: Beside | None = None
    root: str = ""
    trace: str = ""
    meta: str = ""
    cancel_requested: str = ""
    next_generation: bool = False
    attempts: tuple[Attempt, ...] = ()
    log: tuple[LogLine, ...] = ()
    timeline: tuple[Moment, ...] = ()
    parts: int | None = None  # of a chain or a group
    parts_open: int = 0  # of them, or of the tasks that an iterator has begun, those that have not ended
    phase: str = ""  # of a map-reduce task: `reduce` once its chunks are through
    on_failure: str = ""  # of what has parts: fail, continue, outcomes
    goes_on_at: str = ""  # where a retry takes up a map-reduce task that is over: `map`, `process` or `reduce`
    broken: tuple[Broken, ...] = ()  # its pool, when not all that is told of it could be read

    @property
    def parts_ended(self) -> int:
        """How many parts of a chain or a group have ended."""
        return max(0, (self.parts or 0) - self.parts_open)


class Event(Answer, frozen=True, kw_only=True):
    """Something that happened just now: a change of state (`before` to `after`), or progress or a log line."""

    TEXTS_OF_TASKS: ClassVar = ("text",)

    t: int
    pool: str
    id: str
    name: str = ""
    before: str = ""  # empty for a task that was not there
    after: str = ""  # empty for one that went, and where the state did not change
    done: str = ""
    total: str = ""
    text: str = ""


class Finding(Answer, frozen=True, kw_only=True):
    """One thing that was checked: is it well, what was read, and which verb of queueops.control mends it."""

    TEXTS: ClassVar = ("text", "value")

    ok: bool
    text: str
    value: str = ""
    verb: str | None = None
    target: str = ""  # what the verb acts on: a task id, `pool/lane`, a worker id
    place: str = ""  # where more of it can be seen: `lanes`, `workers`, or the `parts` of `target`


class LaneRow(Answer, frozen=True, kw_only=True):
    """A lane, as its configuration and its queue are now."""

    pool: str
    lane: str
    ready: int
    active: int
    limit: int | None = None
    rate: float | None = None  # starts a second; None: any
    spent: bool = False  # the rate allows no start now
    paused: bool = False
    oldest_ms: int | None = None  # when its oldest ready task became ready
    weight: int = 1


class RunningTask(Answer, frozen=True, kw_only=True):
    """What a worker's slot runs."""

    id: str
    name: str
    pool: str
    since_ms: int  # when it began


class WorkerRow(Answer, frozen=True, kw_only=True):
    """A worker process, as its last heartbeat told."""

    id: str
    host: str
    pid: int
    version: str
    pools: tuple[str, ...]
    slots: int
    busy: int
    beat_ms: int
    started_ms: int
    rss: int  # bytes
    running: tuple[RunningTask, ...] = ()
    state: str = "live"  # live, quiet, silent, hung, late
    silent_since_ms: int | None = None  # of a silent or hung one: its last sign of life


class ErrorRow(Answer, frozen=True, kw_only=True):
    """Failures of one fingerprint."""

    fingerprint: str
    type: str
    message: str
    name: str
    pool: str
    count: int  # how often it happened
    failed: int  # how many tasks stand as failed because of it
    first_ms: int
    last_ms: int
    sample_id: str

    TEXTS: ClassVar = ("type",)
    TEXTS_OF_TASKS: ClassVar = ("message",)


class Alarm(Answer, frozen=True, kw_only=True):
    """Something that a person should look at."""

    TEXTS: ClassVar = ("text",)

    level: str  # warning, danger
    text: str
    url_hint: str = ""  # the page that tells more: workers, lanes, tasks?..., health


class PoolView(Answer, frozen=True, kw_only=True):
    """One pool's counts and speeds."""

    name: str
    states: dict[str, int]
    oldest_pending_ms: int | None  # when the oldest pending task became pending
    in_rate: float
    out_rate: float
    failure_rate: float  # 0..1, of what ended
    wait_p95_ms: float | None
    run_p95_ms: float | None
    drain_s: float | None  # of pending tasks and pending chunks; None: it does not shrink
    workers: int  # live ones
    chunks_pending: int = 0  # of map-reduce tasks that gather; where these are very many, estimated
    chunks_active: int = 0
    chunks: dict[str, int] = {}  # of the same tasks, by state
    chunk_rate: float = 0.0  # chunks that ended, per second

    @property
    def waiting(self) -> int:
        """Pending tasks and pending chunks."""
        return self.states.get("pending", 0) + self.chunks_pending


class RedisHealth(Answer, frozen=True, kw_only=True):
    """The store, as INFO tells."""

    version: str
    used_memory: int
    maxmemory: int
    policy: str
    aof: bool
    clients: int
    ops: int


class Snapshot(Answer, frozen=True, kw_only=True):
    """The whole system at one moment. `version` changes when anything that is shown has changed."""

    version: str
    taken_ms: int
    computed: bool  # True: no watchdog wrote it, it was counted on the spot
    states: dict[str, int]
    flows: dict[str, float]  # "pending>locked": per second
    pools: tuple[PoolView, ...]
    lanes: tuple[LaneRow, ...]
    chunk_lanes: tuple[ChunkLane, ...]  # those with most ready chunks first
    errors: tuple[ErrorRow, ...]
    alarms: tuple[Alarm, ...]
    redis: RedisHealth
    broken: tuple[Broken, ...] = ()  # pools that could not be read in full; each is an alarm, too
