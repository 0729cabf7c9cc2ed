"""The handler `download`: runs a job that fetches its URL into the storage, and tells what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from queueops.errors import OutsideTask
from queueops.errors.job_network import DownloadFailed
from queueops.kinds.jobs.aggregations.lane_names import lane_of_aggregation
from queueops.kinds.jobs.counters import BAD_PROXY, RESPONSE, count
from queueops.kinds.jobs.disk_guard import AGAIN_S, may_start
from queueops.kinds.jobs.file_calls import RETENTION, QueuedFile
from queueops.kinds.jobs.files.download_options import read_download
from queueops.kinds.jobs.job import Job
from queueops.kinds.jobs.settings import of_jobs
from queueops.kinds.jobs.store import JobCalls
from queueops.redis.broker import get_role
from queueops.tasks.context import current
from queueops.tasks.decisions import Permanent, RetryLater

if TYPE_CHECKING:
    from queueops.kinds.jobs.files.download import Downloaded


def run_download(job: Job) -> dict[str, Any]:
    """Fetch the URL of a job once. The callback tells the result. What it raises decides about the next attempt."""
    from queueops.kinds.jobs.files.download import download  # its packages are an extra, and slow to import

    pool = _pool()
    if not may_start(pool or "default"):
        current().restart(AGAIN_S)
    settings = of_jobs()
    wanted = read_download(job.id, job.url, _with_proxy(job, pool), settings, extra=job.extra)
    found = download(wanted, settings=settings)
    count(pool, *_counters(found))
    if failure := found.failure:
        code = f"HTTP {failure.status}: " if failure.status else ""
        error = DownloadFailed(
            code=code, kind=str(failure.kind), reason=failure.reason, response_code=found.status or 0
        )
        if not failure.retriable:
            raise Permanent(error)
        if failure.retry_after is not None:
            raise RetryLater(failure.retry_after, error)
        raise error
    if settings.file_retention is not None and pool:
        keep_ms = round(settings.file_retention * 1000)
        get_role(JobCalls).queue_files(pool, [QueuedFile(found.path, job.id, RETENTION, keep_ms)])
    return {
        "path": found.path,
        "size": found.size,
        "mime_type": found.mime_type,
        "image_size": found.image_size,
        "response_code": found.status,
    }


def _counters(found: Downloaded) -> Iterator[str]:
    """The counters of an attempt: the status of its answer, and the kind of its failure."""
    if found.status is not None:
        yield f"{RESPONSE}{found.status}"
    if found.failure is not None and found.failure.kind != "status":
        yield f"{RESPONSE}{found.failure.kind}"
    if found.failure is not None and found.failure.what == "proxy":
        yield BAD_PROXY


def _with_proxy(job: Job, pool: str) -> dict[str, Any]:
    """The options of a job. The proxy of its aggregation wins: an operator can change it for jobs that wait."""
    proxy = get_role(JobCalls).proxy(pool, lane_of_aggregation(job.aggregation)) if pool else None
    return job.options if proxy is None else job.options | {"proxy": proxy}


def _pool() -> str:
    try:
        return current().pool
    except OutsideTask:  # a test that calls the handler
        return ""
