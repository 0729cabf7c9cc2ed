"""Jobs: work that is submitted by aggregation, each with a limit of its own.

from queueops import jobs

jobs.submit(aggregation="shop", limit=10, handler="resize", url="https://example.com/a.jpg")
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Unpack

from queueops.errors import BadOption, advice
from queueops.kinds.jobs.files.download_options import DOWNLOAD
from queueops.kinds.jobs.handlers import JobHandler, job_handler
from queueops.kinds.jobs.job import Job
from queueops.kinds.jobs.job_store import get_job_store
from queueops.kinds.jobs.outbox import kept_jobs
from queueops.kinds.jobs.store import JOB, NewJob
from queueops.kinds.jobs.submission import JobOptions, new_job
from queueops.model import warn_once
from queueops.results.handle import TaskHandle
from queueops.tasks import push_hooks, registry, transactions
from queueops.tasks.context import held

__all__ = ["Job", "JobHandler", "JobOptions", "job_handler", "submit", "submit_many"]

_UNKNOWN_HANDLER = "No @job_handler of this process has the name %r, whose jobs wait until a worker has it%s"


def submit(*, aggregation: str, **options: Unpack[JobOptions]) -> TaskHandle[Any]:
    """Submit one job. The first job of an aggregation decides its `limit` (jobs at once) and `rate` (starts a second).

    `handler` names what runs it. `url`, the text `extra` and the dict `options` are for the handler. With an `id` of
    your own, a job is created once while its record is kept: the word of a second handle is EXISTS. A `fingerprint`
    stands for its content: a second job with the id and another one is refused. The others are options of every task.

    Raises BadOption, BadId, UnknownOption, NotEncodable, PayloadTooLarge, AggregationDrains, FingerprintDiffers,
    BrokerUnavailable and StoreFull. Raises LeaseLost in a task that has lost its lease.
    """
    (handle,) = submit_many([{"aggregation": aggregation, **options}])
    return handle


def submit_many(jobs: Iterable[Mapping[str, Any]]) -> list[TaskHandle[Any]]:
    """Submit many jobs: each has the arguments of `submit` as a dict. If one is invalid, none is created.

    Up to 1,000 jobs of one pool are created all or none. More of them are created in batches of 1,000: if one is
    refused or the store stops answering, the batches before have been created.
    """
    made = [_made(number, job) for number, job in enumerate(jobs, 1)]
    for job in made:
        push_hooks.before(job.push)
    if made and (wait := transactions.to_wait_for(made[0].push.name)):
        wait.leave(partial(_send, made), partial(kept_jobs, made))
        return [TaskHandle(job.push.id, job.push.pool) for job in made]
    return _send(made)


def _made(number: int, given: Any) -> NewJob:
    try:
        if not isinstance(given, Mapping) or "aggregation" not in given:
            raise BadOption(
                name="job", value=given, expected="the arguments of submit() as a dict, with an aggregation"
            )
        return new_job(given["aggregation"], {name: value for name, value in given.items() if name != "aggregation"})
    except Exception as error:  # only to add which job it is
        error.add_note(f"Job number {number} is wrong; the first is number 1.")
        raise


def _send(jobs: list[NewJob]) -> list[TaskHandle[Any]]:
    store, handles = get_job_store(), {}
    for pool in dict.fromkeys(job.push.pool for job in jobs):
        of_pool = [job for job in jobs if job.push.pool == pool]
        for answer in store.submit_jobs(pool, of_pool, under=held()):
            handles[pool, answer.id] = TaskHandle[Any](answer.id, pool, answer.word, answer.uid)
    for job in jobs:
        push_hooks.after(handles[job.push.pool, job.push.id], job.push)
    for name in dict.fromkeys(job.push.name for job in jobs):
        _warn_about(name)
    return [handles[job.push.pool, job.push.id] for job in jobs]


def _warn_about(name: str) -> None:
    """Warn of a handler that this process does not know, though it knows others. Once for each name."""
    known = {each for kind, each in registry.handlers() if kind == JOB}
    if known and name not in known | {DOWNLOAD}:
        warn_once.warn(("handler", name), _UNKNOWN_HANDLER, name, advice(name, {*known, DOWNLOAD}))
