"""Creating tasks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import redis
from redis.exceptions import ResponseError

from queueops.contracts import Push, Pushed
from queueops.errors import BrokenPool, NotDurable
from queueops.redis import pushwire
from queueops.redis.link import BATCH, Link
from queueops.redis.pushline import RedisPushes
from queueops.redis.replies import said
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

    def pushes(self, pool: str, *, durable: bool = False) -> RedisPushes:
        """The same for many batches to one pool, of which the next may be sent before the last is answered."""

        def read(batch: Sequence[Push], reply: Sequence[int]) -> list[Pushed]:
            self.announce(pool)
            pushed = self._displaced(pool, batch, reply)
            if durable:
                self._confirm(pool)
            return pushed

        return RedisPushes(self, pool, partial(self.push, durable=durable), read)

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
        try:
            return self._displaced(pool, batch, self._call("enqueue", pool, *pushwire.enqueue_arguments(batch)))
        except BrokenPool as error:
            if isinstance(error.__cause__, ResponseError):  # a lane that is new is known to nobody else
                raise self.explained(pool, error.__cause__, {push.lane or "default" for push in batch}) from error
            raise

    def _displaced(self, pool: str, batch: Sequence[Push], reply: Sequence[int]) -> list[Pushed]:
        """The answers of ``enqueue``, where an id was in use those of ``displace``."""
        pushed = pushwire.read_enqueued(batch, reply)
        if taken := reply[1:]:
            those = [batch[index] for index in taken]
            displaced = self._call("displace", pool, *pushwire.displace_arguments(those))
            for index, answer in zip(taken, pushwire.read_displaced(those, displaced), strict=True):
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
            wanted = f"the append-only file ({said(error).rstrip('. ')})"
            raise NotDurable(what=f"a task to pool {pool}", wanted=wanted, seconds=0) from error
        finally:
            line.disconnect()
        if not local:
            raise NotDurable(what=f"a task to pool {pool}", wanted="the append-only file", seconds=DURABLE_S)
