"""Consistency check, read-only: compares records and indexes."""

from __future__ import annotations

from msgspec.structs import replace

from queueops.inspect.redaction import redactor
from queueops.model.fsck import FsckPage
from queueops.redis.broker import get_broker


def fsck(pool: str = "default", after: str = "") -> FsckPage:
    """One bounded step of the check of a pool, which changes nothing. Raises BrokenPool and BrokerUnavailable."""
    page = get_broker().check(pool, after)
    return replace(page, faults=tuple(replace(fault, text=redactor().text(fault.text)) for fault in page.faults))
