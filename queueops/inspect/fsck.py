"""The consistency check: is every task where its record says?"""

from __future__ import annotations

from queueops.faults import FsckPage, fsck_page
from queueops.inspect.redaction import redactor
from queueops.inspect.source import open_broker


def fsck(pool: str = "default", after: str = "") -> FsckPage:
    """One bounded step of the check of a pool, which changes nothing. Raises BrokenPool and BrokerUnavailable."""
    looked, faults, following = open_broker().check(pool, after)
    return fsck_page(pool, looked, ((id, redactor().text(text)) for id, text in faults), following)
