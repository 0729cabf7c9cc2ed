"""Standstill of jobs: the maintenance that clients are told of, and machines whose disk has no space for downloads."""

from __future__ import annotations

from typing import ClassVar

from queueops.inspect.answers import Answer
from queueops.inspect.store import now_ms, open_reader
from queueops.kinds.jobs.store import JobCalls
from queueops.redis.broker import get_role
from queueops.redis.query_replies import maybe_whole, whole

FULL_DISK_MS = 300_000
"""A note of a full disk that is older counts no more: each worker that looks at the disk renews it."""


class Maintenance(Answer, frozen=True, kw_only=True):
    """The maintenance that is on: clients of the API are told to send no jobs."""

    TEXTS: ClassVar = ("reason",)

    since_ms: int = 0
    who: str = ""
    reason: str = ""


def maintenance() -> Maintenance | None:
    """The maintenance that is on; None if it is off. `control.start_maintenance` switches it on."""
    found = get_role(JobCalls).maintenance()
    if not found:
        return None
    since = maybe_whole(found.get("since", "")) or 0
    return Maintenance(since_ms=since, who=found.get("who", ""), reason=found.get("reason", ""))


class FullDisk(Answer, frozen=True, kw_only=True):
    """A machine whose jobs wait, because the disk of its storage is nearly full."""

    host: str
    percent: int
    seen_ms: int


def full_disks() -> tuple[FullDisk, ...]:
    """The machines whose jobs wait for space now."""
    noted = get_role(JobCalls).full_disks(open_reader().pools())
    rows = ((host, *facts.partition(" ")[::2]) for host, facts in noted.items())
    found = (FullDisk(host=host, percent=whole(used), seen_ms=whole(at)) for host, at, used in rows)
    return tuple(row for row in found if row.seen_ms > now_ms() - FULL_DISK_MS)
