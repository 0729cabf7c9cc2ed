"""Store of the sample kind: the values of its rounds."""

from __future__ import annotations

import json
from typing import Any

from queueops.model.records import Record
from queueops.redis.store_client import StoreClient


class RoundCalls(StoreClient):
    """The role that the sample kind adds to the broker."""

    def rounds(self, pool: str, task_id: str) -> list[bytes]:
        """The values of the rounds that have ended."""
        return self.ask(pool, lambda client: client.lrange(f"{self.keys(pool).task(task_id)}#rounds", 0, -1))

    def rest(self, pool: str, task_id: str, *, ends: bool = False) -> str:
        """Let a task rest before its next round, or end its rest. Returns what the store answers."""
        word: bytes = self._call("rest_rounds", pool, task_id, "wake" if ends else "rest")[0]
        return word.decode()


def values(broker: RoundCalls, record: Record) -> list[Any]:
    """The result of a task of this kind: the values of all rounds."""
    return [json.loads(value) for value in broker.rounds(record.pool, record.id)]
