"""Jobs: work that is handed in by aggregation, each with a limit of its own.

from queueops import jobs

jobs.submit(aggregation="shop", limit=10, handler="resize", url="https://example.com/a.jpg")
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Unpack

from queueops.errors import BadOption
from queueops.kinds.jobs.handlers import Job, JobHandler, job_handler
from queueops.kinds.jobs.store import JobCalls, NewJob
from queueops.kinds.jobs.submission import JobOptions, new_job
from queueops.redis.broker import get_role
from queueops.results.handle import TaskHandle
from queueops.tasks import transactions

__all__ = ["Job", "JobHandler", "JobOptions", "job_handler", "submit", "submit_many"]


def submit(*, aggregation: str, **options: Unpack[JobOptions]) -> TaskHandle[Any]:
    """Hand in one job. The first job of an aggregation decides its `limit` (jobs at once) and `rate` (starts a second).

    `handler` names what runs it. `url`, the text `extra` and the dict `options` are for the handler. With an `id` of
    your own, a job is created once while its record is kept: the word of a second handle is EXISTS. A `fingerprint`
    stands for its content: a second job with the id and another one is refused. The others are options of every task.

    Raises BadOption, BadId, UnknownOption, NotEncodable, PayloadTooLarge, AggregationDrains, FingerprintDiffers,
    BrokerUnavailable and StoreFull.
    """
    (handle,) = submit_many([{"aggregation": aggregation, **options}])
    return handle


def submit_many(jobs: Iterable[Mapping[str, Any]]) -> list[TaskHandle[Any]]:
    """Hand in many jobs: each has the arguments of `submit` as a dict. If one is invalid, none is created.

    Up to 1,000 jobs of one pool are created all or none. More of them are created in batches of 1,000: if one is
    refused or the store stops answering, the batches before have been created.
    """
    made = [_made(number, job) for number, job in enumerate(jobs, 1)]
    if made and (databases := transactions.to_wait_for(made[0].push.name)):
        transactions.after_commit(databases, partial(_send, made))
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
    broker, handles = get_role(JobCalls), {}
    for pool in dict.fromkeys(job.push.pool for job in jobs):
        of_pool = [job for job in jobs if job.push.pool == pool]
        for answer in broker.submit_jobs(pool, of_pool):
            handles[pool, answer.id] = TaskHandle[Any](answer.id, pool, answer.word, answer.uid)
    return [handles[job.push.pool, job.push.id] for job in jobs]
