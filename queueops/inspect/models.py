"""Answer classes: frozen data, ready for a page, a terminal or JSON.

Times are epoch milliseconds on Redis' clock. Texts of tasks may be hostile: each consumer escapes them.
"""

from __future__ import annotations

from typing import ClassVar

from queueops.inspect.answer_base import Answer, Failure
from queueops.inspect.broken import Broken
from queueops.inspect.chunk_lane import ChunkLane as ChunkLane
from queueops.model.states import CONTAINERS


class TaskFacts(Answer, frozen=True, kw_only=True):
    """Fields of a task that lists and its own page show."""

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
    """One row of a task list."""

    TEXTS: ClassVar = ("error",)

    error: str = ""  # one line
    parent: str = ""  # its parent task


class TaskPage(Answer, frozen=True, kw_only=True):
    """One page of a list; `next` continues it, empty at the end."""

    rows: tuple[TaskRow, ...]
    next: str = ""
    total: int = 0  # of the index that was walked
    exact: bool = True  # the index holds only matching tasks; otherwise `total` is an upper bound
    partial: bool = False  # the budget ended before the page was full; `next` continues from there
    broken: tuple[Broken, ...] = ()  # pools that could not be read in full


class Part(Answer, frozen=True, kw_only=True):
    """One part of a chain, a group or an iterator; `task` is None if it is gone, or its pool does not answer."""

    id: str
    pool: str
    number: int | None = None  # its position from 1 on; None for an iterator's tasks
    task: TaskRow | None = None
    begun_ms: int | None = None
    ended_ms: int | None = None
    elsewhere: bool = False  # the part is in another pool
    silent: str = ""  # the reason why its pool did not answer
    branch: Branch | None = None  # its own parts, if it may have any


class Branch(Answer, frozen=True, kw_only=True):
    """The shown parts of one task, in order."""

    total: int | None = None  # None for an iterator, whose number of parts is not known
    open: int = 0  # parts that have not ended; for an iterator those that it has begun
    first: int = 0  # number of parts before the first row
    next: str = ""  # where the parts after the last row begin; empty if there are none
    counts: tuple[tuple[str, int], ...] = ()  # by state; of very many parts only the ended ones of an iterator
    rows: tuple[Part, ...] = ()

    @property
    def ended(self) -> int:
        """The number of ended parts."""
        return max(0, (self.total or 0) - self.open)

    @property
    def behind(self) -> int | None:
        """The number of parts after the last row; None if it is not known."""
        return None if self.total is None else max(0, self.total - self.first - len(self.rows))


class Above(Answer, frozen=True, kw_only=True):
    """A parent task; its name is empty if it is in another pool."""

    id: str
    pool: str
    name: str = ""
    kind: str = ""
    state: str = ""


class Tree(Answer, frozen=True, kw_only=True):
    """A task's parts, with theirs, and its own parents, from near to far."""

    root: Branch | None = None
    above: tuple[Above, ...] = ()


class CommandRow(Answer, frozen=True, kw_only=True):
    """A command: a transition in `pool` to apply to the task `target` of the pool `to`."""

    TEXTS_OF_TASKS: ClassVar = ("error",)

    id: str
    pool: str
    verb: str
    sender: str
    to: str
    target: str
    generation: str  # uid of the parent of the two: of the sender or of the target
    round: int  # retry round of that parent; an earlier round counts no more
    tries: int  # number of delivery attempts
    created_ms: int
    at_ms: int  # time when it is due, when its lock ends, or when it became dead
    error: str = ""  # error of the last delivery
    size: int = 0  # bytes of its results and errors


class CommandPage(Answer, frozen=True, kw_only=True):
    """Commands, the oldest first, and their total number; `next` continues them, empty at the end."""

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
    """The neighbour of a part in a chain, before or after it."""

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
    first_begun_ms: int | None = None  # of a map-reduce task: time of its first map
    ended_ms: int | None = None
    deadline_ms: int | None = None  # end of the lease, or of the retention
    fence: int = 0
    uid: int = 0
    timeout_ms: int | None = None
    retry: str = ""
    keep_ms: int | None = None
    parent: str = ""
    parent_pool: str = ""
    parent_uid: int = 0
    parent_name: str = ""  # of a parent in the same pool, if it exists
    parent_state: str = ""
    retried_by: str = ""  # the chain or group that runs this part again; it cannot be retried alone
    number: int | None = None  # its position there, from 1 on
    siblings: int | None = None  # the number of parts there
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
    parts_open: int = 0  # of its parts, or of an iterator's tasks so far, those that have not ended
    phase: str = ""  # of a map-reduce task: `reduce` once all chunks have ended
    on_failure: str = ""  # of a parent task: fail, continue, outcomes
    goes_on_at: str = ""  # stage at which a retry continues an ended map-reduce task: `map`, `process` or `reduce`
    broken: tuple[Broken, ...] = ()  # its pool, if not all of its data could be read

    @property
    def parts_ended(self) -> int:
        """The number of ended parts of a chain or a group."""
        return max(0, (self.parts or 0) - self.parts_open)


class Event(Answer, frozen=True, kw_only=True):
    """A live event: a change of state (`before` to `after`), progress, or a log line."""

    TEXTS_OF_TASKS: ClassVar = ("text",)

    t: int
    pool: str
    id: str
    name: str = ""
    before: str = ""  # empty for a new task
    after: str = ""  # empty for a task that is gone, and without a change of state
    done: str = ""
    total: str = ""
    text: str = ""


class Finding(Answer, frozen=True, kw_only=True):
    """One check: whether it passed, the value that was read, and the verb of queueops.control that repairs it."""

    TEXTS: ClassVar = ("text", "value")

    ok: bool
    text: str
    value: str = ""
    verb: str | None = None
    target: str = ""  # target of the verb: a task id, `pool/lane`, a worker id
    place: str = ""  # page with more about it: `lanes`, `workers`, or the `parts` of `target`


class LaneRow(Answer, frozen=True, kw_only=True):
    """A lane: its settings and its queue now."""

    pool: str
    lane: str
    ready: int
    active: int
    limit: int | None = None
    rate: float | None = None  # starts per second; None: no limit
    spent: bool = False  # the rate limit permits no start now
    paused: bool = False
    oldest_ms: int | None = None  # time when its oldest ready task became ready
    weight: int = 1


class RunningTask(Answer, frozen=True, kw_only=True):
    """The task in a worker's slot."""

    id: str
    name: str
    pool: str
    since_ms: int  # time of its start


class WorkerRow(Answer, frozen=True, kw_only=True):
    """A worker process, as in its last heartbeat."""

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
    silent_since_ms: int | None = None  # last sign of life of a silent or hung process


class ErrorRow(Answer, frozen=True, kw_only=True):
    """Failures of one fingerprint."""

    fingerprint: str
    type: str
    message: str
    name: str
    pool: str
    count: int  # number of failures
    failed: int  # number of tasks now in the state failed because of it
    first_ms: int
    last_ms: int
    sample_id: str

    TEXTS: ClassVar = ("type",)
    TEXTS_OF_TASKS: ClassVar = ("message",)


class Alarm(Answer, frozen=True, kw_only=True):
    """A condition that needs an operator."""

    TEXTS: ClassVar = ("text",)

    level: str  # warning, danger
    text: str
    url_hint: str = ""  # page with more about it: workers, lanes, tasks?..., health


class PoolView(Answer, frozen=True, kw_only=True):
    """One pool's counts and rates."""

    name: str
    states: dict[str, int]
    oldest_pending_ms: int | None  # time when the oldest pending task became pending
    in_rate: float
    out_rate: float
    failure_rate: float  # 0..1, share of ended attempts
    wait_p95_ms: float | None
    run_p95_ms: float | None
    drain_s: float | None  # seconds until no task or chunk is pending; None: their number does not fall
    workers: int  # live workers
    chunks_pending: int = 0  # chunks of aggregating map-reduce tasks; an estimate if there are very many tasks
    chunks_active: int = 0
    chunks: dict[str, int] = {}  # of the same tasks, by state
    chunk_rate: float = 0.0  # chunks that ended, per second

    @property
    def waiting(self) -> int:
        """Pending tasks and pending chunks."""
        return self.states.get("pending", 0) + self.chunks_pending


class RedisHealth(Answer, frozen=True, kw_only=True):
    """The store, as its INFO reports it."""

    version: str
    used_memory: int
    maxmemory: int
    policy: str
    aof: bool
    clients: int
    ops: int


class Snapshot(Answer, frozen=True, kw_only=True):
    """The whole system at one moment. `version` changes when any shown value has changed."""

    version: str
    taken_ms: int
    computed: bool  # True: not written by a watchdog, but counted for this question
    states: dict[str, int]
    flows: dict[str, float]  # "pending>locked": changes per second
    pools: tuple[PoolView, ...]
    lanes: tuple[LaneRow, ...]
    chunk_lanes: tuple[ChunkLane, ...]  # tasks with most ready chunks first
    errors: tuple[ErrorRow, ...]
    alarms: tuple[Alarm, ...]
    redis: RedisHealth
    broken: tuple[Broken, ...] = ()  # pools that could not be read in full; each is an alarm, too
