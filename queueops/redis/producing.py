"""Creating tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import redis

from queueops.contracts import Push, Pushed
from queueops.errors import NotDurable
from queueops.redis import wire
from queueops.redis.link import BATCH, Link
from queueops.redis.waker import connection_for

DURABLE_S = 5.0
"""How long a durable push waits for the append-only file."""


class Producing(Link):
    """What creates tasks."""

    def push(self, pushes: Sequence[Push], *, durable: bool = False) -> list[Pushed]:
        """Create tasks, pool by pool, in batches. Raises BrokerUnavailable, StoreFull or NotDurable.

        A call that got no answer is repeated: it is known again by its ids, so nothing is created twice.
        """
        answers = self._push_batch(pushes[0].pool, pushes) if len(pushes) == 1 else self._push_pools(pushes)
        if durable:
            for pool in {push.pool for push in pushes}:
                self._confirm(pool)
        return answers

    def _push_pools(self, pushes: Sequence[Push]) -> list[Pushed]:
        answers: dict[int, Pushed] = {}
        by_pool: dict[str, list[int]] = {}
        for index, push in enumerate(pushes):
            by_pool.setdefault(push.pool, []).append(index)
        for pool, indexes in by_pool.items():
            for start in range(0, len(indexes), BATCH):
                part = indexes[start : start + BATCH]
                answers.update(zip(part, self._push_batch(pool, [pushes[i] for i in part]), strict=True))
        return [answers[index] for index in range(len(pushes))]

    def _push_batch(self, pool: str, batch: Sequence[Push]) -> list[Pushed]:
        self.announce(pool)
        pushed = _read_pushed(batch, self._call("enqueue", pool, *wire.push_arguments(batch)))
        taken = [index for index, answer in enumerate(pushed) if answer.word == "TAKEN"]
        if taken:
            those = [batch[index] for index in taken]
            displaced = _read_pushed(those, self._call("displace", pool, *wire.push_arguments(those)))
            for index, answer in zip(taken, displaced, strict=True):
                pushed[index] = answer
        return pushed

    def _confirm(self, pool: str) -> None:
        """Wait until the server's append-only file holds what was pushed (a write of ours comes after it)."""
        line = connection_for(self.client, self.keys(pool).seq)
        try:
            line.send_command("INCRBY", self.keys(pool).seq, 1)
            line.read_response()
            line.send_command("WAITAOF", 1, 0, round(DURABLE_S * 1000))
            local, _ = line.read_response()
        except (redis.RedisError, OSError) as error:
            raise NotDurable(what=f"a task to pool {pool}", wanted="the append-only file", seconds=0) from error
        finally:
            line.disconnect()
        if not local:
            raise NotDurable(what=f"a task to pool {pool}", wanted="the append-only file", seconds=DURABLE_S)


def _read_pushed(batch: Sequence[Push], reply: Sequence[Any]) -> list[Pushed]:
    parts = iter(reply)
    return [
        Pushed(push.id, int(uid), "OK" if word == b"OK" else word.decode())
        for push, word, uid in zip(batch, parts, parts, strict=True)
    ]
