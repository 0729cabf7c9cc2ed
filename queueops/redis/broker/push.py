"""Task push: creates tasks in the store."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from redis.exceptions import ResponseError

from queueops.errors import BrokenPool
from queueops.model.contracts import LeaseRef, Push, Pushed
from queueops.redis import pushwire
from queueops.redis.base import BATCH
from queueops.redis.durability import Confirmation, confirmed
from queueops.redis.fencing import Fencing
from queueops.redis.pipelined_push import RedisPushes


class PushCalls(Fencing):
    """The producer's role of the broker."""

    def push(self, pushes: Sequence[Push], *, durable: bool = False, under: LeaseRef | None = None) -> list[Pushed]:
        """Create tasks, pool by pool, in batches.

        Raises BrokerUnavailable, StoreFull, DurabilityUnsupported, NotDurable or LeaseLost.

        A call without a reply is repeated. The store recognises it by its ids, so nothing is created twice.
        """
        if durable:
            with confirmed(self, {push.pool for push in pushes}):
                return self.push(pushes, under=under)
        alone = len(pushes) == 1
        return self._push_batch(pushes[0].pool, pushes, under) if alone else self._push_pools(pushes, under)

    def pushes(self, pool: str, *, durable: bool = False, under: LeaseRef | None = None) -> RedisPushes:
        """The same for many batches to one pool, of which the next may be sent before the last is answered.

        A running task's push is sent batch by batch: each batch needs to know that the one before was not refused.
        """
        confirmation = Confirmation(self, pool) if durable else None

        def read(batch: Sequence[Push], reply: Sequence[int]) -> list[Pushed]:
            self.announce(pool)
            pushed = self._displaced(pool, batch, reply, None)
            if confirmation is not None:
                confirmation.wait()
            return pushed

        push = partial(self.push, durable=durable, under=under)
        return RedisPushes(self, pool, push, read, confirmation, ahead=under is None)

    def _push_pools(self, pushes: Sequence[Push], under: LeaseRef | None) -> list[Pushed]:
        answers: dict[int, Pushed] = {}
        by_pool: dict[str, list[int]] = {}
        for index, push in enumerate(pushes):
            by_pool.setdefault(push.pool, []).append(index)
        for pool, indexes in by_pool.items():
            for start in range(0, len(indexes), BATCH):
                part = indexes[start : start + BATCH]
                answers.update(zip(part, self._push_batch(pool, [pushes[i] for i in part], under), strict=True))
        return [answers[index] for index in range(len(pushes))]

    def _push_batch(self, pool: str, batch: Sequence[Push], under: LeaseRef | None) -> list[Pushed]:
        self.announce(pool)
        self.lane_patterns.prepare_for(pool, batch)
        try:
            reply = self._create("enqueue", pool, pushwire.enqueue_arguments(batch), under)
            return self._displaced(pool, batch, reply, under)
        except BrokenPool as error:
            if isinstance(error.__cause__, ResponseError):  # a new lane is in no index yet: only this call knows it
                raise self.explained(pool, error.__cause__, {push.lane or "default" for push in batch}) from error
            raise

    def _displaced(
        self, pool: str, batch: Sequence[Push], reply: Sequence[int], under: LeaseRef | None
    ) -> list[Pushed]:
        """The replies of ``enqueue``; where an id was in use, those of ``displace``."""
        pushed = pushwire.read_enqueued(batch, reply)
        if taken := reply[2:]:
            those = [batch[index] for index in taken]
            displaced = self._create("displace", pool, pushwire.displace_arguments(those), under)
            for index, answer in zip(taken, pushwire.read_displaced(those, displaced), strict=True):
                pushed[index] = answer
        return pushed
