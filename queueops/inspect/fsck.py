"""Consistency check, read-only: compares records and indexes."""

from __future__ import annotations

from queueops.inspect.redaction import redactor
from queueops.inspect.store import open_broker
from queueops.model.fsck import FsckPage, fsck_page


def fsck(pool: str = "default", after: str = "") -> FsckPage:
    """One bounded step of the check of a pool, which changes nothing. Raises BrokenPool and BrokerUnavailable."""
    looked, faults, following = open_broker().check(pool, after)
    return fsck_page(pool, looked, ((id, redactor().text(text)) for id, text in faults), following)
