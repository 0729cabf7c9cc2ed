"""Questions about jobs: aggregations, destinations of callbacks, and the callbacks themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from queueops.errors import FilterError, NotDecodable, advice
from queueops.inspect import pagination
from queueops.inspect.answers import Answer, Broken, broken_pools
from queueops.inspect.detail import TaskDetail
from queueops.inspect.detail import task as read_task
from queueops.inspect.query import TaskQuery
from queueops.inspect.redaction import redactor
from queueops.inspect.store import open_reader, pools_of
from queueops.inspect.task_rows import TaskFacts
from queueops.inspect.tasks import tasks
from queueops.kinds.jobs.aggregations.circuit_rows import CLOSED, OPEN, Circuit, read_circuit
from queueops.kinds.jobs.aggregations.job_list import JobPage, JobRow, jobs, started_attempts
from queueops.kinds.jobs.aggregations.lane_names import (
    AGGREGATION,
    DESTINATION,
    lane_of_aggregation,
    lane_of_destination,
)
from queueops.kinds.jobs.api_tokens import ApiToken, api_tokens
from queueops.kinds.jobs.callbacks.callback_plans import CALLBACK
from queueops.kinds.jobs.callbacks.callback_senders import HTTP
from queueops.kinds.jobs.callbacks.callback_states import CALLBACK_STATES, callback_word
from queueops.kinds.jobs.callbacks.delivery import message_of
from queueops.kinds.jobs.files.file_list import (
    OrphanFiles,
    QueuedFilePage,
    QueuedFileRow,
    StoredFile,
    StoredFilePage,
    file_deletions,
    orphan_files,
    stored_files,
)
from queueops.kinds.jobs.files.job_outcome import JobOutcome, outcome_of
from queueops.kinds.jobs.http.net_guard import shown_url
from queueops.kinds.jobs.standstill import FullDisk, Maintenance, full_disks, maintenance
from queueops.kinds.jobs.store import JOB, JobCalls, StoredCallback
from queueops.kinds.jobs.usage import uses_jobs
from queueops.model.states import State
from queueops.redis.broker import get_role
from queueops.redis.query_replies import maybe_real, maybe_whole, text, whole
from queueops.tasks.encoding import decode_arguments

__all__ = [
    "CALLBACK_STATES",
    "ApiToken",
    "CallbackPage",
    "CallbackRow",
    "Circuit",
    "FullDisk",
    "JobLane",
    "JobLanePage",
    "JobOutcome",
    "JobPage",
    "JobRow",
    "JobStory",
    "Maintenance",
    "OrphanFiles",
    "QueuedFilePage",
    "QueuedFileRow",
    "StoredFile",
    "StoredFilePage",
    "aggregation",
    "aggregations",
    "api_tokens",
    "callback_body",
    "callback_query",
    "callbacks",
    "destination",
    "destinations",
    "file_deletions",
    "full_disks",
    "job_counts",
    "job_lane",
    "job_story",
    "jobs",
    "maintenance",
    "orphan_files",
    "stored_files",
    "uses_jobs",
]

MOST = 200
MOST_CALLS = 50
"""A page is empty only if so many calls, each of 20,000 lanes, found nothing that belongs on it."""
NOT_DELIVERED = re.compile(
    r"^[\w.]+\.NotDelivered: |(?<=: )The callback was not delivered\. (?:The answer has the status \d+\. ?)?", re.ASCII
)
"""What an error of an attempt says besides the answer. The list of callbacks shows the answer alone."""


class JobLane(Answer, frozen=True, kw_only=True):
    """An aggregation, or a destination of callbacks: its limits, and its tasks by state."""

    pool: str
    lane: str
    id: str  # of the aggregation, or the host
    limit: int | None = None  # tasks at once; None: no limit
    rate: float | None = None  # starts a second; None: no limit
    weight: int = 1
    paused: bool = False
    circuits: tuple[Circuit, ...] = ()  # of a destination: those of its addresses that have failed
    draining: bool = False  # whether it takes no jobs
    proxy: str = ""  # of its downloads, without credentials
    used_ms: int = 0  # when it was last used
    oldest_ms: int | None = None  # when its oldest ready task became ready
    counts: dict[str, int] = {}  # tasks by state; states without any are left out

    @property
    def circuit(self) -> str:
        """The circuits of a destination: `open` if one is, else `half open` if one is, else `closed`."""
        return next((state for state in OPEN if any(each.state == state for each in self.circuits)), CLOSED)

    @property
    def shut_ms(self) -> int | None:
        """The first time at which a callback to an address with an open circuit is tried."""
        return min((each.shut_ms for each in self.circuits if each.shut_ms is not None), default=None)

    @property
    def failures(self) -> int:
        """Attempts that failed in a row: those of the address that has most of them."""
        return max((each.failures for each in self.circuits), default=0)

    @property
    def ready(self) -> int:
        """Tasks that wait for a slot."""
        return self.counts.get(State.PENDING, 0)

    @property
    def delayed(self) -> int:
        """Tasks that begin later: postponed, or between two attempts."""
        return self.counts.get(State.POSTPONED, 0) + self.counts.get(State.RESTART, 0)

    @property
    def in_flight(self) -> int:
        """Tasks that run, each in a slot."""
        return self.counts.get(State.LOCKED, 0)

    @property
    def failed(self) -> int:
        """Tasks that have failed and are still kept; of a destination: dead callbacks."""
        return self.counts.get(State.FAILED, 0)


class JobLanePage(Answer, frozen=True, kw_only=True):
    """One page of such lanes, the last used first; `next` continues it, empty at the end."""

    rows: tuple[JobLane, ...]
    next: str = ""
    broken: tuple[Broken, ...] = ()  # pools that could not be read in full


class CallbackRow(Answer, frozen=True, kw_only=True):
    """A callback: where it goes, the job that it tells of, and what the target answered last."""

    TEXTS: ClassVar = ("url", "answer")

    id: str
    pool: str
    state: str
    lane: str
    url: str = ""  # of the target
    job: str = ""
    success: bool = False  # whether the job succeeded
    attempt: int = 0  # attempts that failed
    started: int = 0  # attempts that have begun
    retries: int = 0
    entered_ms: int = 0
    due_ms: int | None = None  # of the next attempt
    answer: str = ""  # the last one, in one line; of an attempt without answer: the error
    allowed: tuple[str, ...] = ()  # verbs of queueops.control that its state allows

    @property
    def word(self) -> str:
        """Its state as a word of CALLBACK_STATES. `state` is that of its record."""
        return callback_word(self.state)


class CallbackPage(Answer, frozen=True, kw_only=True):
    """One page of callbacks, the latest first; `next` continues it, empty at the end."""

    rows: tuple[CallbackRow, ...]
    next: str = ""
    total: int = 0
    exact: bool = True  # otherwise `total` is an upper bound
    partial: bool = False  # the page ended before it was full; `next` continues it
    broken: tuple[Broken, ...] = ()


class JobStory(Answer, frozen=True, kw_only=True):
    """A job and the callbacks of its last end; one of both may be gone."""

    job: TaskDetail | None = None
    aggregation: str = ""  # id of the job's aggregation
    callbacks: tuple[CallbackRow, ...] = ()
    outcome: JobOutcome = JobOutcome()
    bodies: tuple[str, ...] = ()  # what each callback sends, with secrets masked


def aggregations(pool: str = "", after: str = "", limit: int = 50) -> JobLanePage:
    """The aggregations of a pool or of all, the last used first. Raises FilterError for a wrong `after`."""
    return _lanes(AGGREGATION, pool, after, limit)


def destinations(pool: str = "", after: str = "", limit: int = 50) -> JobLanePage:
    """The hosts to which callbacks go, the last used first. Raises FilterError for a wrong `after`."""
    return _lanes(DESTINATION, pool, after, limit)


def aggregation(id: str, pool: str = "default") -> JobLane | None:
    """One aggregation; None if no job was ever submitted there. Raises BadOption for an id that cannot be one."""
    return job_lane(lane_of_aggregation(id), pool)


def destination(host: str, pool: str = "default") -> JobLane | None:
    """The lane of the callbacks to a host; None if no callback went there."""
    return job_lane(lane_of_destination(host), pool)


def job_lane(lane: str, pool: str = "default") -> JobLane | None:
    """An aggregation or a destination by the name of its lane; None if it was never used."""
    if not lane.startswith((AGGREGATION, DESTINATION)):
        return None
    reader = open_reader()
    replies = reader.ask("job_lanes", dict.fromkeys(pools_of(reader, pool), ("", "", "", 1, lane)))
    rows = [_lane(pool, row) for _, found in replies.values() for row in found]
    return next((row for row in rows if row.used_ms or row.counts), None)


def callbacks(state: str = "", destination: str = "", pool: str = "", after: str = "", limit: int = 50) -> CallbackPage:
    """The callbacks in a state, a word of CALLBACK_STATES, and to a host; empty texts: all. Raises FilterError."""
    page = tasks(callback_query(state, destination, pool), after, limit)
    stored = get_role(JobCalls).callbacks([(row.pool, row.id) for row in page.rows])
    return CallbackPage(
        rows=tuple(_callback(row, stored[row.pool, row.id], row.error) for row in page.rows),
        next=page.next,
        total=page.total,
        exact=page.exact,
        partial=page.partial,
        broken=page.broken,
    )


def job_counts(pool: str = "default") -> dict[str, int]:
    """What the workers of a pool have counted: answers to downloads, callbacks and deleted files, by name."""
    return get_role(JobCalls).counts(pool)


def callback_query(state: str = "", destination: str = "", pool: str = "") -> TaskQuery:
    """The filter of a list of tasks for these callbacks. Raises FilterError."""
    if state and state not in CALLBACK_STATES:
        raise FilterError(reason=f"there is no state {state!r} of callbacks{advice(state, CALLBACK_STATES)}")
    lane = lane_of_destination(destination) if destination else ""
    return TaskQuery(kind=CALLBACK, state=CALLBACK_STATES[state] if state else "", lane=lane, pool=pool).checked()


def callback_body(id: str, pool: str = "default") -> str:
    """The body that a callback sends, with secrets masked; empty if it is gone or cannot be read."""
    return _body(get_role(JobCalls).callbacks([(pool, id)])[pool, id])


def _body(stored: StoredCallback) -> str:
    try:
        _, body = message_of(stored.args, stored.previous)
    except NotDecodable:
        return ""
    return redactor().document(body)


def job_story(task: TaskDetail) -> JobStory:
    """The whole story of a task: a job with its callbacks, or a callback with its job and the others."""
    job = task if task.kind == JOB else read_task(task.follows, task.pool) if task.follows else None
    ids = [each.id for each in job.followed_by if each.name == CALLBACK] if job is not None else []
    if task.kind == CALLBACK and task.id not in ids:
        ids.append(task.id)
    stored = get_role(JobCalls).callbacks([(task.pool, id) for id in ids])
    found = [(id, row) for id in ids if (row := read_task(id, task.pool)) is not None and row.kind == CALLBACK]
    rows = tuple(_callback(row, stored[task.pool, id], _title(row)) for id, row in found)
    lane = job_lane(job.lane, job.pool) if job is not None else None
    return JobStory(
        job=job,
        aggregation=lane.id if lane is not None else "",
        callbacks=rows,
        outcome=outcome_of(job.id, job.pool, job.name) if job is not None else JobOutcome(),
        bodies=tuple(_body(stored[task.pool, id]) for id, _ in found),
    )


def _title(task: TaskDetail) -> str:
    """The last error of a task, in one line."""
    return f"{task.error.type}: {task.error.message}" if task.error else ""


def _lanes(prefix: str, pool: str, after: str, limit: int) -> JobLanePage:
    reader, limit = open_reader(), max(1, min(limit, MOST))
    pools = pools_of(reader, pool)
    places = pagination.read(after, pools, [prefix]) if after else dict.fromkeys(pools, (prefix, "", ""))
    taken: list[tuple[str, JobLane]] = []
    for _ in range(MOST_CALLS):
        asked = {name: (prefix, time, lane, limit, "") for name, (_, time, lane) in places.items()}
        walks = {name: _walk(places[name], name, *reply) for name, reply in reader.ask("job_lanes", asked).items()}
        taken, places = pagination.merge(walks, limit, lambda _, row: -row.used_ms)
        if taken or not places:
            break
    return JobLanePage(
        rows=tuple(row for _, row in taken),
        next=pagination.write(places),
        broken=broken_pools(reader.broken, reader.silent),
    )


def _walk(start: pagination.Place, pool: str, place: Sequence[bytes], found: Iterable[Any]) -> pagination.Walk[JobLane]:
    rows = [((start[0], text(row[1]), text(row[0])), _lane(pool, row)) for row in found]
    return pagination.Walk(start=start, rows=rows, next=(start[0], text(place[0]), text(place[1])) if place else None)


def _lane(pool: str, row: Sequence[Any]) -> JobLane:
    lane, used, _ready, settings, oldest, circuits, *counts = row
    given = ("" if value is None else text(value) for value in settings)
    id, limit, rate, weight, paused, drain, proxy = given
    name = text(lane)
    return JobLane(
        pool=pool,
        lane=name,
        id=id or name.partition(":")[2],
        limit=maybe_whole(limit),
        rate=maybe_real(rate),
        weight=maybe_whole(weight) or 1,
        paused=paused == "1",
        circuits=tuple(map(read_circuit, circuits)),
        draining=drain == "1",
        proxy=shown_url(proxy) if proxy else "",
        used_ms=whole(text(used)),
        oldest_ms=maybe_whole(text(oldest)),
        counts=_counts(counts),
    )


def _counts(flat: Sequence[bytes]) -> dict[str, int]:
    pairs = zip(flat[::2], flat[1::2], strict=True)
    return {text(state): number for state, count in pairs if (number := whole(text(count))) > 0}


def _callback(row: TaskFacts, stored: StoredCallback, error: str) -> CallbackRow:
    told = _told(stored.args)
    return CallbackRow(
        id=row.id,
        pool=row.pool,
        state=row.state,
        lane=row.lane,
        url=f"{told['by']}:{told.get('to')}" if told.get("by", HTTP) != HTTP else str(told.get("to") or ""),
        job=str(told.get("job") or ""),
        success=bool(told.get("success")),
        attempt=row.attempt,
        started=started_attempts(row),
        retries=row.retries,
        entered_ms=row.entered_ms,
        due_ms=row.due_ms,
        answer=_answer(stored.result) or NOT_DELIVERED.sub("", error) or row.reason,
        allowed=row.allowed,
    )


def _told(arguments: bytes) -> Mapping[str, Any]:
    try:
        return decode_arguments(CALLBACK, arguments)[1]
    except NotDecodable:
        return {}


def _answer(result: bytes) -> str:
    """What the target answered at the end, in one line."""
    try:
        found = msgspec.json.decode(result, type=dict[str, Any]) if result else {}
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    answer = str(found.get("answer") or "")
    return f"HTTP {found['status']}: {answer}".rstrip(": ") if "status" in found else answer
