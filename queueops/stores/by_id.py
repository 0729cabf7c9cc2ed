"""Tasks by their ids, in a store without lists."""

from __future__ import annotations

from queueops.model.records import Record
from queueops.redis.broker import get_broker


def found_by_id(id: str, pool: str) -> tuple[str, Record] | None:
    """The pool that holds this id, and its record. With ``pool`` in this pool alone."""
    broker = get_broker()
    if not pool:
        return broker.find(id)
    record = broker.record(pool, id)
    return None if record is None else (pool, record)
