"""What the consistency check finds, put right."""

from __future__ import annotations

from queueops.model.fsck import FsckPage, fsck_page
from queueops.redis.broker import get_broker


def repair(pool: str, after: str = "") -> FsckPage:
    """One bounded step of the check of a pool; each task that is not where its record says is put there in one call.

    Safe while workers run, and again: a task that is well is left alone. Raises BrokenPool and BrokerUnavailable.
    """
    return fsck_page(pool, *get_broker().check(pool, after, repair=True))
