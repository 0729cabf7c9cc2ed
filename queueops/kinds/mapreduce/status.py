"""Status of a map-reduce task: what it has beside that of any task."""

from __future__ import annotations

from typing import Any, Protocol

from queueops.model.records import Record


class Counting(Protocol):
    """The store's method that is used here."""

    def chunk_counts(self, pool: str, task_id: str) -> dict[str, int]:
        """The number of chunks of a task, by state."""


def values_of(broker: Counting, record: Record) -> dict[str, Any]:
    """Its chunks, counted by state."""
    return {"chunks": broker.chunk_counts(record.pool, record.id)}
