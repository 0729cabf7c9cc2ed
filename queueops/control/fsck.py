"""Repair: one step of the consistency check that corrects the indexes."""

from __future__ import annotations

from queueops.model.fsck import FsckPage
from queueops.redis.broker import get_broker


def repair(pool: str, after: str = "") -> FsckPage:
    """Check and repair one bounded part of a pool; each misplaced task is put into its index in one call.

    Safe while workers run, and when repeated: an intact task is left alone. Raises BrokenPool and BrokerUnavailable.
    """
    return get_broker().check(pool, after, repair=True)
