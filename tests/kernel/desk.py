"""What a test says to the kernel, in few words: the broker's own calls, and the passing of time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from queueops.model.contracts import (
    Conflict,
    Exchange,
    Extend,
    Lease,
    Outcome,
    Push,
    Pushed,
    RoundTrip,
    Row,
    Settlement,
)
from queueops.model.history import steps_of
from queueops.model.records import Record
from queueops.redis.broker import RedisBroker
from tests.kernel import invariants
from tests.kernel.picture import Picture, server_of

POOL = "default"
NEVER_MS = 10_000_000
FOREVER = 1e9
"""Seconds."""


class Desk:
    """A broker; the ids whose record the test destroyed, now or ever (haunted); lanes limited below what runs."""

    def __init__(self, broker: RedisBroker, pool: str = POOL) -> None:
        self.broker = broker
        self.pool = pool
        self.keys = broker.keys(pool)
        self.client = broker.client
        self.server = server_of(broker, self.keys.seq)  # a cluster has several
        self.broken: set[str] = set()
        self.haunted: set[str] = set()
        self.lowered: set[str] = set()

    def check(self) -> Picture:
        """Assert all invariants."""
        return invariants.check(
            self.broker, self.pool, broken=self.broken, haunted=self.haunted | self.broken, lowered=self.lowered
        )

    # Producing

    def push(self, *ids: str, **fields: Any) -> list[Pushed]:
        """Push a task under each id."""
        return self.broker.push([make(task_id, pool=self.pool, **fields) for task_id in ids])

    def word(self, task_id: str, conflict: Conflict, **fields: Any) -> str:
        """Push one id with a conflict policy; what was answered."""
        return self.push(task_id, conflict=conflict, **fields)[0].word

    # Working

    def exchange(self, worker: str = "w1", **values: Any) -> Exchange:
        """One round trip."""
        return self.broker.exchange(self.pool, worker, RoundTrip(**values))

    def claim(self, want: int = 1, worker: str = "w1") -> list[Lease]:
        """Claim up to ``want`` tasks."""
        return self.exchange(worker, want=want).leases

    def lease(self, worker: str = "w1") -> Lease:
        """Claim one task, which must be there."""
        (lease,) = self.claim(1, worker)
        return lease

    def settle(
        self,
        lease: Lease,
        outcome: Outcome = Outcome.SUCCESS,
        value: bytes = b"null",
        worker: str = "w1",
        **values: Any,
    ) -> str:
        """Settle one lease; the word that was answered."""
        return self.exchange(worker, settle=[end(lease, outcome, value, **values)]).settled[0]

    def extend(self, lease: Lease, worker: str = "w1", left_ms: int = -1) -> Exchange:
        """Keep a lease."""
        return self.exchange(worker, extend=[Extend(lease.id, lease.fence, left_ms)])

    def drain(self, worker: str = "w1", limit: int = 1000) -> list[str]:
        """Run everything that is ready, one at a time, successfully; the ids in the order of their starts."""
        order: list[str] = []
        while (leases := self.claim(1, worker)) and len(order) < limit:
            order.append(leases[0].id)
            assert self.settle(leases[0]) == "OK"
        return order

    # Controlling

    def control(self, verb: str, *ids: str, **values: Any) -> list[Row]:
        """An operator's action."""
        return self.broker.control(self.pool, verb, ids, **values)

    def told(self, verb: str, task_id: str, **values: Any) -> str:
        """An operator's action on one task; the word that was answered."""
        return self.control(verb, task_id, **values)[0].word

    # The passing of time

    def now(self) -> int:
        """Redis' time in milliseconds."""
        seconds, micros = self.server.time()
        return int(seconds) * 1000 + int(micros) // 1000

    def await_early_minute(self) -> None:
        """Wait for the next minute if this one ends within five seconds, for tests of one minute's figures."""
        left_ms = 60_000 - self.now() % 60_000
        if left_ms < 5000:
            time.sleep(left_ms / 1000)

    def make_due(self, *ids: str) -> None:
        """The time of these tasks' entries on the agenda has come."""
        if ids:
            self.client.zadd(self.keys.agenda, dict.fromkeys(ids, 1), xx=True)

    def put_off(self, *ids: str) -> None:
        """The time of these timed tasks is far away, so that real time changes nothing during a test."""
        later = self.now() + NEVER_MS
        for task_id in ids:
            self.client.hset(self.keys.task(task_id), "d", later)
            self.client.zadd(self.keys.agenda, {task_id: later}, xx=True)

    def hold(self, *ids: str) -> None:
        """The leases of these tasks end far away: what was handed over is to be renewed within two real seconds."""
        later = self.now() + int(self.broker.settings.lease * 1000)
        if ids:
            self.client.zadd(self.keys.agenda, dict.fromkeys(ids, later), xx=True)

    def tick(self, limit: int = 500) -> dict[str, int]:
        """One round of the watchdog; what it did, how often."""
        return self.broker.tick(self.pool, limit).acted

    def expire(self, *ids: str) -> None:
        """The leases of these tasks end without a word, and they are ready again."""
        self.make_due(*ids)
        self.tick()
        self.make_due(*[task_id for task_id in ids if self.state(task_id) == "restart"])
        self.tick()

    # Looking

    def record(self, task_id: str) -> Record | None:
        """The record, or None."""
        return self.broker.record(self.pool, task_id)

    def state(self, task_id: str) -> str:
        """The state that the record has; empty when there is none."""
        found = self.client.hget(self.keys.task(task_id), "s")
        return found.decode() if found else ""

    def states(self, *ids: str) -> list[str]:
        """The states of several."""
        return [self.state(task_id) for task_id in ids]

    def counted(self, field: str) -> int:
        """A counter of this pool's metrics, of all minutes; a transition also where one counter has several."""
        picture, found = Picture(self.broker, self.pool), 0
        for minute in picture.under("metrics:"):
            for name, count in picture.hash(f"metrics:{minute}").items():
                word, _, way = name.partition("|")
                steps = [f"tr|{source}>{target}" for source, target in steps_of(way)] if word == "tr" else [name]
                found += int(count) * steps.count(field)
        return found

    def everything(self) -> dict[str, bytes]:
        """Every key with its serialized value, but what counts calls and time: whether a call changed anything."""
        names = sorted(self.client.scan_iter(f"{self.keys.prefix}:*", count=10_000))
        passing = (b":metrics:", b":clock", b":wake:", b":unable", b":idle", b":seq")
        return {name.decode(): self.client.dump(name) for name in names if not any(part in name for part in passing)}


def make(task_id: str, name: str = "tests.noop", **fields: Any) -> Push:
    """A push, of a no-op task unless said otherwise."""
    return Push(id=task_id, name=name, **fields)


def end(lease: Lease, outcome: Outcome = Outcome.SUCCESS, value: bytes = b"null", **values: Any) -> Settlement:
    """The end of a lease."""
    return Settlement(lease.id, lease.fence, outcome, value, **({"lane": lease.lane} | values))


def ids_of(leases: Sequence[Lease]) -> list[str]:
    """The ids of leases, in order."""
    return [lease.id for lease in leases]
