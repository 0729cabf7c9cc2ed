"""Pool client: the leases that a worker process holds in one pool, and its round trips with the broker."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable

from queueops.errors import QueueOpsError
from queueops.model.contracts import Exchange, Extend, Lease, Settlement
from queueops.model.kinds import PARTS
from queueops.model.ports import Broker
from queueops.worker.execution import settlements
from queueops.worker.loop.matching_lanes import Closed, MatchingLanes
from queueops.worker.loop.metrics_buffer import MetricsBuffer
from queueops.worker.loop.pool_thread import PoolThread
from queueops.worker.loop.transport import PendingTrip, Transport

LINGER = 0.005
"""Seconds that a settlement may wait for others while there is other work to do."""
TRUSTED_S = 1.0
"""Seconds for which a handed-over lease is surely valid; the store ends it after twice as many."""
LOOK_AGAIN = 0.002
"""Seconds until a worker claims again after a partial reply. The store wakes only workers that received nothing."""
MAX_SETTLE = 128
"""Settlements in one round trip; a script with more would delay the other clients."""
MAX_PARTS = 64
"""Limit for round trips that settle parts. Each part also updates its parent, and may start the next part."""
TAKEN_OVER = settlements.TAKEN_OVER.encode()

logger = logging.getLogger("queueops.worker")


class PoolClient:
    """Leases, settlements and timing of one pool. In an outage, unsent settlements are kept."""

    def __init__(
        self,
        pool: str,
        worker: str,
        broker: Broker,
        lease_seconds: float,
        left_ms: Callable[[Lease], int],
        thread: PoolThread | None = None,
        *,
        pipelined: bool = False,
        lanes: tuple[str, ...] = (),
        kinds: tuple[str, ...] = (),
        closed: Iterable[Closed] = (),
    ) -> None:
        """``thread`` makes the calls, for pools whose unresponsive server must not delay other pools.

        Only lanes that match a pattern of ``lanes`` are served, if there is any, and none that ``closed`` tells of; and
        only records of ``kinds``, if there is any.
        """
        self.pool = pool
        self.held: dict[str, tuple[Lease, float]] = {}
        """The leases in this process, each with the moment of the monotonic clock at which it has certainly expired."""
        self.metrics = MetricsBuffer()
        self.ready = True
        self.dry = False
        self.next_at = 0.0
        self.has_commands = False
        self.transport = Transport(pool, worker, broker, thread, pipelined=pipelined)
        self.to_settle: list[Settlement] = []
        self._settle_since = 0.0
        self._lease, self._lanes = lease_seconds, MatchingLanes(lanes, kinds, pool, closed)
        self._left_ms = left_ms
        self._extend_at = time.monotonic() + lease_seconds / 3
        self._asked: dict[str, int] = {}
        self._at_once = MAX_SETTLE
        self._of_parts = False
        self._clock_ahead = 0.0
        self._given_back_at = 0.0
        self._distrusted = 0

    def ended(self, lease: Lease, settlement: Settlement, run_ms: float, now: float) -> None:
        """Record the end of a task of this pool; its settlement goes with the next round trip."""
        self.forget(lease)
        self._asked.pop(lease.id, None)
        self.settle(settlement, now)
        if lease.parent_id and lease.kind not in PARTS:
            self._of_parts = True
        self.metrics.add(lease, settlement, run_ms)

    def hold(self, lease: Lease, now: float) -> bool:
        """Hold a lease that was handed over; return whether it is fresh enough to start.

        It may have expired while this process was stopped, or the store may have taken it back after an outage.
        """
        self.held[lease.id] = lease, now + TRUSTED_S
        at = lease.handed_ms / 1000 - self._clock_ahead
        return at > self._given_back_at and now - at < TRUSTED_S and not self.transport.failures

    def forget(self, lease: Lease) -> bool:
        """Stop holding this lease; False if it is not held, or if the task's next lease is held."""
        held = self.held.get(lease.id)
        if held is None or held[0] is not lease:
            return False
        del self.held[lease.id]
        return True

    def settle(self, settlement: Settlement, now: float) -> None:
        """Queue a settlement for the next round trip."""
        if not self.to_settle:
            self._settle_since = now
        self.to_settle.append(settlement)

    def lease_of(self, task_id: str) -> list[Lease]:
        """The lease of a task, if this process holds it."""
        held = self.held.get(task_id)
        return [] if held is None else [held[0]]

    def ask_about(self, task_id: str) -> None:
        """Renew one lease with the next round trip, to learn whether and why it is cancelled.

        The round trip after that asks again if the lease itself is still on its way.
        """
        self._asked[task_id] = 2

    def distrust(self) -> None:
        """Give back the leases that the pending round trips bring."""
        self._distrusted = len(self.transport.under_way)

    @property
    def cut_off(self) -> bool:
        """Whether the last round trip failed."""
        return self.transport.failures > 0

    @property
    def wanted(self) -> int:
        """How many leases the pending round trips may bring."""
        return sum(trip.want for trip in self.transport.under_way)

    @property
    def flows(self) -> bool:
        """Whether the next round trip may be sent before the previous reply: no failure, and more work is available.

        After an idle time, the first claim is sent alone. The next one waits for its reply.
        """
        return self.ready and not self.dry and self._at_once > 1 and not self.transport.failures

    def is_flushed(self, now: float) -> bool:
        """Whether the store has answered every settlement, and no metrics wait; in an outage metrics are given up."""
        unsaid = self.to_settle or (self.metrics.waiting() and not (self.cut_off or self.transport.is_slow(now)))
        return not (unsaid or any(trip.settle for trip in self.transport.under_way))

    def due_at(self, now: float, want: int, *, hungry: bool) -> float:
        """When the next round trip is due, at the earliest ``now``: to renew, settle, fetch commands, or claim.

        ``hungry``: few tasks are queued, so settlements go at once.
        """
        transport = self.transport
        if transport.thread is not None and not transport.accepts(flows=self.flows):
            return float("inf")
        if self._asked or self.has_commands or (hungry and (self.to_settle or (want > 0 and self.ready))):
            return max(now, transport.retry_at)
        moment = self._extend_at
        if self.to_settle:
            moment = min(moment, self._settle_since + LINGER)
        if want > 0:
            moment = min(moment, self.next_at)
        return max(now, transport.retry_at, moment)

    def send(self, now: float, want: int, *, idle: bool, take: int = -1) -> bool:
        """Send one round trip. False if it failed: its settlements are sent again after ``retry_at``."""
        self.has_commands = False
        most = min(self._at_once, MAX_PARTS) if self._of_parts else self._at_once
        settle, self.to_settle = self.to_settle[:most], self.to_settle[most:]
        self._of_parts = self._of_parts and bool(self.to_settle)
        recovers, lanes = self.transport.failures > 0, self._lanes
        if want and now >= lanes.ask_at:
            lanes.ask(now)
        trip = PendingTrip(
            at=now,
            settle=settle,
            extend=self._extensions(now),
            want=want,
            idle=idle,
            metrics=self.metrics.due(now) if now >= self.metrics.due_at else None,
            take=take,
            recovers=recovers,
            lanes=lanes.served if want else lanes.patterns,
            kinds=lanes.kinds,
            met=lanes.met(now) if want and lanes.remembers else (),
        )
        error = self.transport.send(trip, self._known(settle) if recovers else ())
        if error is not None:
            self._take_back(error)
        return error is None

    def receive(self) -> Exchange | None:
        """Return the reply of the oldest pending round trip, or None if it failed."""
        answer = self.transport.receive()
        if isinstance(answer, Exception):
            self._take_back(answer)
            return None
        self._take(*answer)
        return answer[1]

    def overstayed(self, now: float) -> Iterable[Lease]:
        """Leases that expired during an outage: other workers may run these tasks now."""
        return [lease for lease, until in self.held.values() if until < now]

    def _extensions(self, now: float) -> list[Extend]:
        if now >= self._extend_at:
            self._extend_at = now + self._lease / 3
            ids: Iterable[str] = self.held
        else:
            ids = self._asked
        extend = []
        for task_id in ids:
            if (held := self.held.get(task_id)) is not None:
                extend.append(Extend(task_id, held[0].fence, self._left_ms(held[0])))
        if self._asked:
            self._asked = {key: left - 1 for key, left in self._asked.items() if left > 1 and key not in self.held}
        return extend

    def _take(self, trip: PendingTrip, reply: Exchange) -> None:
        for settlement, word in zip(trip.settle, reply.settled, strict=True):
            if word in ("STALE", "GONE") and settlement.value != TAKEN_OVER:
                logger.warning("The outcome of %s came too late (%s): its lease is no longer ours", settlement.id, word)
        self._clock_ahead = reply.now_ms / 1000 - trip.at
        if trip.recovers:
            self._given_back_at = time.monotonic()
        until = trip.at + self._lease
        for renewed in trip.extend:
            if (held := self.held.get(renewed.id)) is not None:
                self.held[renewed.id] = held[0], until
        for lease in reply.leases:
            self.held[lease.id] = lease, until
        if reply.leases:
            self._lanes.take(reply.leases)
        if trip.want > 0:
            self._plan(reply, trip.want)
        elif self.dry:  # a round trip without a claim removes the worker from the list of idle workers
            self.next_at = min(self.next_at, time.monotonic() + LOOK_AGAIN)
        if not self.to_settle:
            self._at_once = MAX_SETTLE
        if self._distrusted:
            self._distrusted -= 1
            self._give_back(reply, trip.at)

    def _give_back(self, reply: Exchange, now: float) -> None:
        for lease in reply.leases:
            if self.forget(lease):
                self.settle(settlements.unstarted(lease, settlements.TAKEN_OVER), now)
        reply.leases = []

    def _plan(self, reply: Exchange, want: int) -> None:
        """Decide when to claim again."""
        self.ready = len(reply.leases) == want or (reply.ready and bool(reply.leases))
        self.dry = not (reply.ready or reply.leases)
        pause = reply.sleep_ms / 1000 if self.dry or self.ready else LOOK_AGAIN
        self.next_at = time.monotonic() + max(pause, LOOK_AGAIN)

    def _known(self, settle: list[Settlement]) -> set[tuple[str, int]]:
        known = {(lease.id, lease.fence) for lease, _ in self.held.values()}
        known.update((settlement.id, settlement.fence) for settlement in (*settle, *self.to_settle))
        return known

    def _take_back(self, error: Exception) -> None:
        """Take back the settlements and metrics of failed round trips. The next round trips send them again.

        After an error of the script, settlements are sent one at a time. One that fails alone is dropped and logged:
        it would fail each time.
        """
        trips = self.transport.take_back()
        settle = [settlement for trip in trips for settlement in trip.settle]
        for trip in trips:
            self.metrics.give_back(trip.metrics)
        if not isinstance(error, QueueOpsError):
            self._at_once = 1
            if len(settle) == 1:
                logger.error("The outcome of %s can't be stored; its lease will end by itself", settle.pop().id)
        self.to_settle = settle + self.to_settle
        self._distrusted = 0
        self._extend_at = 0.0  # renew first when the store works again
