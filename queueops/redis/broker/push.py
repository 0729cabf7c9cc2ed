"""Task push: creates tasks in the store."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import nullcontext

from redis.exceptions import RedisError, ResponseError

from queueops.errors import BrokenPool
from queueops.errors.refusals import LibraryRefused
from queueops.model import observers
from queueops.model.contracts import LeaseRef, Push, Pushed
from queueops.redis import pushwire
from queueops.redis.durability import Confirmation, confirmed
from queueops.redis.fencing import Fencing
from queueops.redis.scripts import ScriptLine
from queueops.redis.store_client import BATCH


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
        """The same for many batches to one pool. The next batch may be sent before the previous one is answered.

        A running task's push is sent batch by batch: a batch may follow only if the previous one was not refused.
        """
        return RedisPushes(self, pool, durable=durable, under=under)

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
        with observers.publishing(batch, linked=len(batch) > 1) if observers.registered else nullcontext():
            self.announce(pool)
            if pool in self.lane_patterns.pools:
                self.lane_patterns.prepare_for(pool, batch)
            arguments = pushwire.enqueue_arguments(batch)
            try:
                if under is None:
                    reply = self._call("enqueue", pool, *arguments)
                else:
                    reply = self._create("enqueue", pool, arguments, under)
                return self._displaced(pool, batch, reply, under) if reply[2:] else pushwire.read_enqueued(batch, reply)
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


class RedisPushes:
    """Pending batches for one pool, on a dedicated connection. Not thread-safe.

    A batch without a reply there is pushed in the usual way, which recognises what has already arrived.
    """

    def __init__(self, calls: PushCalls, pool: str, *, durable: bool, under: LeaseRef | None) -> None:
        """With ``under``, each batch is pushed in the usual way when it is received."""
        self._calls = calls
        self._pool = pool
        self._confirmation = Confirmation(calls, pool) if durable else None
        self._under = under
        self._ahead = under is None
        self._line: ScriptLine | None = None
        self._under_way: deque[Sequence[Push]] = deque()

    def send(self, pushes: Sequence[Push]) -> None:
        """Send a batch if it is worth a connection; a small single batch waits until it is received."""
        self._calls.lane_patterns.prepare_for(self._pool, pushes)
        self._under_way.append(pushes)
        try:
            if self._line is None and self._ahead and len(pushes) >= BATCH:
                self._line = self._calls.script_line(self._pool, "enqueue")
            if self._line is not None:
                with observers.publishing(pushes, linked=True):
                    self._line.send(*pushwire.enqueue_arguments(pushes))
        except (RedisError, OSError):
            self._give_up()

    def receive(self) -> list[Pushed]:
        """Return the replies for the oldest pending batch. Raises BrokerUnavailable and StoreFull."""
        pushes = self._under_way.popleft()
        try:
            reply = None if self._line is None else self._line.receive()
        except (RedisError, OSError, LibraryRefused):
            self._give_up()
            reply = None
        if reply is None:
            return self._calls.push(pushes, durable=self._confirmation is not None, under=self._under)
        self._calls.announce(self._pool)
        pushed = self._calls._displaced(self._pool, pushes, reply, None)
        if self._confirmation is not None:
            self._confirmation.wait()
        return pushed

    def close(self) -> None:
        """Close the connection; pending batches may still arrive."""
        if self._confirmation is not None:
            self._confirmation.close()
        self._hang_up()

    def _hang_up(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            line.close()

    def _give_up(self) -> None:
        """Ignore the error: if it lasts, the usual way meets and reports it."""
        self._ahead = False
        self._hang_up()
