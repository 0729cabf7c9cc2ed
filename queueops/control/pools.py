"""Actions on a whole pool: flush, and repair of its indexes."""

from __future__ import annotations

from time import monotonic
from typing import NamedTuple

from msgspec.structs import replace

from queueops.conf import redactor
from queueops.errors import QueueOpsError
from queueops.model.fsck import FsckPage
from queueops.redis.broker import get_broker
from queueops.redis.query_replies import LATE_MS
from queueops.redis.reader import Reader

MOST_WORKERS, MOST_NAMED = 500, 5


class PoolInUse(QueueOpsError):
    """The pool {pool} is not flushed: {count} live workers serve it ({workers}). Stop them first, or force it."""

    pool: str
    count: int
    workers: str


def flush(pool: str, *, force: bool = False) -> int:
    """Delete all keys of a pool: tasks, schedules, lanes, metrics. Returns the number of keys.

    Raises PoolInUse while live workers serve it, unless it is forced: then their tasks end without an outcome.
    """
    if not force:
        check_unused(pool)
    return sum(get_broker().flush_pool(pool))


def check_unused(pool: str) -> None:
    """Raise PoolInUse while live workers serve the pool."""
    reader = Reader(get_broker())
    now, beats = reader.workers([pool], MOST_WORKERS)
    reader.ensure_all()
    live = sorted(beat.id for _, beat in beats if now - beat.beat_ms <= LATE_MS)
    if live:
        more = ["..."] if len(live) > MOST_NAMED else []
        raise PoolInUse(pool=pool, count=len(live), workers=", ".join(live[:MOST_NAMED] + more))


class EmptiedTrash(NamedTuple):
    """How many tasks were deleted for good, and how many were left when the time was over."""

    deleted: int
    left: int


def empty_trash(pool: str, *, seconds: float | None = None) -> EmptiedTrash:
    """Delete the tasks in the trash of a pool for good, which frees their memory. `seconds`: for so long at most.

    Raises BrokenPool and BrokerUnavailable.
    """
    broker, end = get_broker(), None if seconds is None else monotonic() + seconds
    deleted, left, before = broker.empty_trash(pool)
    while left and (end is None or monotonic() < end):
        more, left, before = broker.empty_trash(pool, before)
        deleted += more
    return EmptiedTrash(deleted, left)


def repair(pool: str, after: str = "") -> FsckPage:
    """Check and repair one bounded part of a pool; each misplaced task is put into its index in one call.

    A key of a wrong type is not changed: `inspect.fsck` finds it again. Safe while workers run, and when repeated: an
    intact task is not changed. Raises BrokenPool and BrokerUnavailable.
    """
    page = get_broker().check(pool, after, repair=True)
    return replace(page, faults=tuple(replace(fault, text=redactor().text(fault.text)) for fault in page.faults))
