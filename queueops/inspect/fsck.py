"""The consistency check: is every task where its record says?"""

from __future__ import annotations

from queueops.faults import FsckPage, fsck_page
from queueops.inspect.source import open_broker


def fsck(pool: str = "default", after: str = "") -> FsckPage:
    """One bounded step of the check of a pool, which changes nothing. Raises BrokenPool and BrokerUnavailable."""
    return fsck_page(pool, *open_broker().check(pool, after))
