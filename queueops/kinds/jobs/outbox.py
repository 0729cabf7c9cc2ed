"""Jobs in the outbox of a database: those that are created all or none are a row."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from queueops.kinds.jobs.store import ALL_OR_NONE, NewJob
from queueops.model.contracts import Push
from queueops.tasks import outbox
from queueops.tasks.outbox import Form, Kept


def kept_jobs(jobs: list[NewJob]) -> Iterator[Kept]:
    """The rows of jobs, pool by pool."""
    for pool in dict.fromkeys(job.push.pool for job in jobs):
        of_pool = (job for job in jobs if job.push.pool == pool)
        while batch := list(islice(of_pool, ALL_OR_NONE)):
            yield Kept("jobs", batch[0].push, batch)


def _send(broker: Any, jobs: list[NewJob]) -> None:
    answers = broker.submit_jobs(jobs[0].push.pool, jobs)
    for job, answer in zip(jobs, answers, strict=True):
        outbox.sent(job.push, answer)


def _begin(jobs: list[NewJob]) -> list[Push]:
    return [job.push for job in jobs]


FORMS = {"jobs": Form(list[NewJob], _send, _begin)}
