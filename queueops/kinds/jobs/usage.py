"""Usage of jobs: whether this project uses jobs at all, known without a question to the store for each page."""

from __future__ import annotations

from time import monotonic

from django.conf import settings as django_settings

from queueops import conf
from queueops.errors import QueueOpsError
from queueops.inspect.query import TaskQuery
from queueops.inspect.tasks import tasks
from queueops.kinds.jobs.store import JOB
from queueops.tasks import registry

AGAIN_S = 30.0
"""Seconds until the store is asked again whether it has a job."""


def uses_jobs() -> bool:
    """Whether the settings have JOBS, the project has a job handler, or the store has a job.

    A process asks the store at most every 30 s, and no more once it has seen a job.
    """
    if "JOBS" in getattr(django_settings, "QUEUEOPS", {}) or any(kind == JOB for kind, _ in registry.handlers()):
        return True
    place = conf.current().place
    if place not in _seen and monotonic() >= _next.get(place, 0.0):
        _next[place] = monotonic() + AGAIN_S
        if _has_jobs():
            _seen.add(place)
    return place in _seen


def _has_jobs() -> bool:
    try:
        return bool(tasks(TaskQuery(kind=JOB), limit=1).rows)
    except QueueOpsError:  # the page tells what is wrong with the store
        return False


_seen: set[tuple[str, str, str]] = set()
_next: dict[tuple[str, str, str], float] = {}
