"""A worker in the thread of a test: it sees the test's database transaction, and has ended when the call returns."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from queueops import signals
from queueops.model import endings
from queueops.model.contracts import Command, Exchange, Lease, Settlement, Told
from queueops.redis.broker import RedisBroker, get_broker
from queueops.testing.execution import run
from queueops.worker.loop.progress_buffer import ProgressBuffer
from queueops.worker.options import worker_id

AT_MOST = 10_000
MOST_COMMANDS = 100


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
    channel = ProgressBuffer(broker, lambda lease, seconds: None, lambda lease, seconds: None)
    for pool in names:
        broker.declare_lanes(pool)
    starts = 0
    while found := next(filter(None, (_one(broker, pool, worker, channel) for pool in names)), None):
        starts += len(found.leases)
        if found.leases and not until_idle:
            break
        if starts >= at_most:
            raise AssertionError(f"the worker is still busy after {starts} starts: does a task push itself?")
    if starts and until_idle:
        signals.tell_of_worker(signals.worker_idle, worker, tuple(names))
    return starts


def _one(broker: RedisBroker, pool: str, worker: str, channel: ProgressBuffer) -> Exchange | None:
    """Run one task of a pool, and bring its commands; None when there is nothing of either."""
    reply = broker.exchange(pool, worker, want=1, take=MOST_COMMANDS)
    endings.tell(reply.ended)
    _deliver(broker, reply.commands)
    for lease in reply.leases:
        _settle(broker, lease, worker, run(lease, channel), channel)
    return reply if reply.leases or reply.commands else None


def _settle(broker: RedisBroker, lease: Lease, worker: str, settlement: Settlement, channel: ProgressBuffer) -> None:
    channel.send()
    reply = broker.exchange(lease.pool, worker, settle=[settlement], take=MOST_COMMANDS)
    endings.tell(reply.ended)
    _deliver(broker, reply.commands)


def _deliver(broker: RedisBroker, commands: Iterable[Command]) -> None:
    """Bring what this means for tasks of other pools there, and what that means in its turn."""
    waiting = deque(commands)
    while waiting:
        command = waiting.popleft()
        posted = broker.post(command.to, apply=[command], take=MOST_COMMANDS)
        ((word, detail),) = posted.answers
        told = Told(command.id, command.version, word, detail)
        answered = broker.post(command.pool, told=[told], take=MOST_COMMANDS)
        endings.tell([*posted.ended, *answered.ended])
        waiting += posted.taken + answered.taken
