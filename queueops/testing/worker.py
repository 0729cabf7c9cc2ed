"""Test worker: runs in the test's thread, sees its database transaction, and ends before the call returns."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from queueops import signals
from queueops.eager.execution import run
from queueops.model import endings
from queueops.model.contracts import Command, Exchange, Lease, RoundTrip, Settlement, Told
from queueops.model.ports import Broker
from queueops.redis.broker import get_broker, get_role
from queueops.redis.broker.pool_messages import OutboxCalls
from queueops.worker.loop.progress_buffer import ProgressBuffer
from queueops.worker.options import worker_id

AT_MOST = 10_000
MOST_COMMANDS = 100


def run_worker(until_idle: bool = True, *, pools: Iterable[str] | None = None, at_most: int = AT_MOST) -> int:
    """Run the pushed tasks one at a time, and the tasks that these push; returns the number of starts.

    With `until_idle` it returns when no task is ready in any of the `pools` (default: all); else after one start.
    Postponed tasks, and failed tasks in back-off, run when they are due; `handle.run_now()` does not wait for that.
    Timeouts are not enforced. Raises AssertionError after `at_most` starts.
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


def _one(broker: Broker, pool: str, worker: str, channel: ProgressBuffer) -> Exchange | None:
    """Run one task of a pool, and deliver the pool's commands. None if the pool has neither."""
    reply = broker.exchange(pool, worker, RoundTrip(want=1, take=MOST_COMMANDS))
    endings.tell(reply.ended)
    _deliver(reply.commands)
    for lease in reply.leases:
        _settle(broker, lease, worker, run(lease, channel), channel)
    return reply if reply.leases or reply.commands else None


def _settle(broker: Broker, lease: Lease, worker: str, settlement: Settlement, channel: ProgressBuffer) -> None:
    channel.send()
    reply = broker.exchange(lease.pool, worker, RoundTrip(settle=[settlement], take=MOST_COMMANDS))
    endings.tell(reply.ended)
    _deliver(reply.commands)


def _deliver(commands: Iterable[Command]) -> None:
    """Deliver the commands for tasks of other pools, and the commands that these cause."""
    waiting, outbox = deque(commands), get_role(OutboxCalls)
    while waiting:
        command = waiting.popleft()
        posted = outbox.post(command.to, apply=[command], take=MOST_COMMANDS)
        ((word, detail),) = posted.answers
        told = Told(command.id, command.version, word, detail)
        answered = outbox.post(command.pool, told=[told], take=MOST_COMMANDS)
        endings.tell([*posted.ended, *answered.ended])
        waiting += posted.taken + answered.taken
