"""A worker in the thread of a test: it sees the test's database transaction, and has ended when the call returns."""

from __future__ import annotations

from collections.abc import Iterable

from queueops.contracts import Lease, Settlement
from queueops.redis.broker import RedisBroker, get_broker
from queueops.testing.execution import run
from queueops.worker.channel import WorkerChannel
from queueops.worker.options import worker_id

AT_MOST = 10_000


def run_worker(until_idle: bool = True, *, pools: Iterable[str] | None = None, at_most: int = AT_MOST) -> int:
    """Run what has been pushed, one task at a time, and what those push; answers how many starts there were.

    With `until_idle` it ends when nothing is ready in any of the `pools` (all of them by default), else after one
    start. Postponed tasks, and failed ones that wait for their next attempt, run when their time has come:
    `handle.run_now()` does not wait for it. Limits of time are not enforced. Raises AssertionError after `at_most`
    starts.
    """
    broker = get_broker()
    names = list(broker.pools() if pools is None else pools)
    worker = worker_id(0)
    channel = WorkerChannel(broker, lambda lease, seconds: None)
    for pool in names:
        broker.declare_lanes(pool)
    starts = 0
    while any(_one(broker, pool, worker, channel) for pool in names):
        starts += 1
        if not until_idle:
            break
        if starts >= at_most:
            raise AssertionError(f"the worker is still busy after {starts} starts: does a task push itself?")
    return starts


def _one(broker: RedisBroker, pool: str, worker: str, channel: WorkerChannel) -> bool:
    """Run one task of a pool, if there is any."""
    leases = broker.exchange(pool, worker, want=1).leases
    for lease in leases:
        _settle(broker, lease, worker, run(lease, channel), channel)
    return bool(leases)


def _settle(broker: RedisBroker, lease: Lease, worker: str, settlement: Settlement, channel: WorkerChannel) -> None:
    channel.send()
    broker.exchange(lease.pool, worker, settle=[settlement])
