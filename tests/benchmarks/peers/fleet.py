"""A fleet of simulated workers, as `measures/fleet.py` says: `fleet.py WORKERS COUNT BUDGET_SECONDS`.

Each worker sends what a worker process sends that settles its only task and claims the next one, on a connection of
its own. The connections are read in turn, so the server always has calls of nearly all workers. Of a reply, only what
the next call needs is read: reading all of it costs Python as much as the server needs for the call.
"""

import json
import os
import sys
from itertools import cycle, islice
from time import monotonic
from typing import Any

import django

django.setup()

from queueops.model.contracts import Outcome, RoundTrip, Settlement  # noqa: E402  the apps must be ready first
from queueops.pool_messages.dispatcher import BATCH  # noqa: E402
from queueops.redis import wire  # noqa: E402
from queueops.redis.broker import RedisBroker, get_broker  # noqa: E402
from queueops.worker.loop.metrics_buffer import MetricsBuffer  # noqa: E402

POOL, RESULT = "default", b"12345"


class Worker:
    """One simulated worker: its connection, and the task that it holds."""

    def __init__(self, broker: RedisBroker, name: str) -> None:
        """Register, and claim the first task."""
        broker.beat(POOL, name, {"pools": POOL, "slots": 1})
        self._broker, self._name = broker, name
        self._line = broker.script_line(POOL, "exchange")
        self._metrics = MetricsBuffer()
        self._send([])
        [lease] = wire.read_exchange(POOL, name, self._line.receive()).leases
        self._first, self._id, self._fence = lease, lease.id, lease.fence

    def send(self) -> None:
        """Settle the task, and ask for the next one."""
        settlement = Settlement(self._id, self._fence, Outcome.SUCCESS, RESULT)
        self._metrics.add(self._first, settlement, 0.0)  # the name counts, and all have the same
        self._send([settlement])

    def receive(self) -> None:
        """Take the next task from the oldest reply."""
        reply = self._line.receive()
        short = len(reply) < wire.FULL_REPLY  # of a fast path: it has settled
        leases, words = (reply[3:], [b"OK"]) if short else reply[:2]
        if words != [b"OK"] or len(leases) != 1:
            raise RuntimeError(f"settled {words}, claimed {len(leases)} tasks")
        self._id, self._fence = leases[0][0].decode(), leases[0][1]

    def _send(self, settle: list[Settlement]) -> None:
        metrics = self._metrics.due(monotonic())
        trip = RoundTrip(settle=settle, want=1, idle=True, metrics=metrics, take=BATCH)
        self._line.send(*wire.exchange_arguments(self._name, self._broker.longest_ms, self._broker.rules, trip))


def run(workers: list[Worker], count: int, budget: float) -> dict[str, Any]:
    """Settle `count` tasks, or as many as the budget permits, and each worker's one at least."""
    begun, sent, turn = monotonic(), len(workers), cycle(workers)
    for worker in workers:
        worker.send()
    while sent < count and monotonic() - begun < budget:
        worker = next(turn)
        worker.receive()
        worker.send()
        sent += 1
    for worker in islice(turn, len(workers)):
        worker.receive()
    return {"settled": sent, "seconds": monotonic() - begun}


def main() -> None:
    number, count, budget = sys.argv[1:]
    broker = get_broker()
    broker.declare_lanes(POOL)
    workers = [Worker(broker, f"fleet:{os.getpid()}:{index}") for index in range(int(number))]
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(run(workers, int(count), float(budget))))


main()
