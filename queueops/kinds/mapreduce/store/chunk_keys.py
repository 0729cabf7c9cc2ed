"""Keys of chunks: sub-keys of the record of their task."""

from __future__ import annotations

from queueops.redis.keys import Keys


def chunk_set(keys: Keys, task_id: str, state: str) -> str:
    """The chunks of a map-reduce task in one state."""
    return f"{keys.task(task_id)}#chunks:{state}"


def chunk_key(keys: Keys, task_id: str, number: int) -> str:
    """The record of one chunk."""
    return f"{keys.task(task_id)}#{number}"
