"""Questions about jobs: aggregations, destinations of callbacks, and the callbacks themselves."""

from __future__ import annotations

from queueops.inspect.answers import Answer
from queueops.inspect.detail import TaskDetail
from queueops.inspect.detail import task as read_task
from queueops.kinds.jobs.aggregations.circuit_rows import Circuit
from queueops.kinds.jobs.aggregations.job_list import JobPage, JobRow, jobs
from queueops.kinds.jobs.aggregations.lane_list import (
    JobLane,
    JobLanePage,
    aggregation,
    aggregations,
    destination,
    destinations,
    job_lane,
)
from queueops.kinds.jobs.api_tokens import ApiToken, api_tokens
from queueops.kinds.jobs.callbacks.callback_list import (
    CallbackPage,
    CallbackRow,
    body_of,
    callback_body,
    callback_query,
    callback_row,
    callbacks,
)
from queueops.kinds.jobs.callbacks.callback_plans import CALLBACK
from queueops.kinds.jobs.callbacks.callback_states import CALLBACK_STATES
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
from queueops.kinds.jobs.standstill import FullDisk, Maintenance, full_disks, maintenance
from queueops.kinds.jobs.store import JOB, JobCalls
from queueops.kinds.jobs.usage import uses_jobs
from queueops.redis.broker import get_role

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


class JobStory(Answer, frozen=True, kw_only=True):
    """A job and the callbacks of its last end; one of both may be gone."""

    job: TaskDetail | None = None
    aggregation: str = ""  # id of the job's aggregation
    callbacks: tuple[CallbackRow, ...] = ()
    outcome: JobOutcome = JobOutcome()
    bodies: tuple[str, ...] = ()  # what each callback sends, with secrets masked


def job_counts(pool: str = "default") -> dict[str, int]:
    """What the workers of a pool have counted: answers to downloads, callbacks and deleted files, by name."""
    return get_role(JobCalls).counts(pool)


def job_story(task: TaskDetail) -> JobStory:
    """The whole story of a task: a job with its callbacks, or a callback with its job and the others."""
    job = task if task.kind == JOB else read_task(task.follows, task.pool) if task.follows else None
    ids = [each.id for each in job.followed_by if each.name == CALLBACK] if job is not None else []
    if task.kind == CALLBACK and task.id not in ids:
        ids.append(task.id)
    stored = get_role(JobCalls).callbacks([(task.pool, id) for id in ids])
    found = [(id, row) for id in ids if (row := read_task(id, task.pool)) is not None and row.kind == CALLBACK]
    rows = tuple(callback_row(row, stored[task.pool, id], _title(row)) for id, row in found)
    lane = job_lane(job.lane, job.pool) if job is not None else None
    return JobStory(
        job=job,
        aggregation=lane.id if lane is not None else "",
        callbacks=rows,
        outcome=outcome_of(job.id, job.pool, job.name) if job is not None else JobOutcome(),
        bodies=tuple(body_of(stored[task.pool, id]) for id, _ in found),
    )


def _title(task: TaskDetail) -> str:
    """The last error of a task, in one line."""
    return f"{task.error.type}: {task.error.message}" if task.error else ""
