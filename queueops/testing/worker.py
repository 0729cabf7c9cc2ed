"""Test worker: runs in the test's thread, sees its database transaction, and ends before the call returns."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from queueops import signals
from queueops.eager.execution import run
from queueops.eager.running import RunningTasks
from queueops.model import endings
from queueops.model.contracts import Command, Exchange, Lease, RoundTrip, Settlement, Told
from queueops.redis.broker import get_broker
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
    worker = InlineWorker(broker, worker_id(0))
    for pool in names:
        broker.declare_lanes(pool)
    starts = 0
    while found := next(filter(None, map(worker.turn, names)), None):
        starts += len(found.leases)
        if found.leases and not until_idle:
            break
        if starts >= at_most:
            raise AssertionError(f"the worker is still busy after {starts} starts: does a task push itself?")
    if starts and until_idle:
        signals.tell_of_worker(signals.worker_idle, worker.name, tuple(names))
    return starts


class InlineWorker:
    """A worker in the thread of the caller. `leases` are those that it runs: one, or more where a task waits."""

    def __init__(self, broker: Any, name: str) -> None:
        self.broker, self.name, self.running = broker, name, RunningTasks()
        self.channel = ProgressBuffer(broker)
        self.leases: list[Lease] = []

    def turn(self, pool: str) -> Exchange | None:
        """Run one task of a pool, and deliver the pool's commands. None if the pool has neither."""
        reply: Exchange = self.broker.exchange(pool, self.name, RoundTrip(want=1, take=MOST_COMMANDS))
        endings.tell(reply.ended)
        self._deliver(reply.commands)
        for lease in reply.leases:
            self._settle(lease, self.execute(lease))
        return reply if reply.leases or reply.commands else None

    def execute(self, lease: Lease) -> Settlement:
        """Run the task of a lease."""
        self.leases.append(lease)
        try:
            return run(lease, self.channel, self.running)
        finally:
            self.leases.remove(lease)

    def _settle(self, lease: Lease, settlement: Settlement) -> None:
        self.channel.send()
        reply = self.broker.exchange(lease.pool, self.name, RoundTrip(settle=[settlement], take=MOST_COMMANDS))
        endings.tell(reply.ended)
        self._deliver(reply.commands)

    def _deliver(self, commands: Iterable[Command]) -> None:
        """Deliver the commands for tasks of other pools, and the commands that these cause."""
        waiting, outbox = deque(commands), self.broker
        while waiting:
            command = waiting.popleft()
            posted = outbox.post(command.to, apply=[command], take=MOST_COMMANDS)
            ((word, detail),) = posted.answers
            told = Told(command.id, command.version, word, detail)
            answered = outbox.post(command.pool, told=[told], take=MOST_COMMANDS)
            endings.tell([*posted.ended, *answered.ended])
            waiting += posted.taken + answered.taken
