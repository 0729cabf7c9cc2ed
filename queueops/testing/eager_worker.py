"""Worker of eager mode: runs what is on the block's store in the thread of the caller, without waiting for a time."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from queueops.model.contracts import Extend, Lease, Outcome, RoundTrip, Settlement
from queueops.model.states import TIMED
from queueops.tasks import registry
from queueops.testing.worker import InlineWorker

WORKER = "eager"
MAX_STARTS = 1_000
"""Starts of one plain task in memory."""
MAX_FENCE = 10_000
"""Starts of one task on the store: a step of an iterator or a workflow is a start."""


class EagerWorker(InlineWorker):
    """Runs all that is ready at each call, and hurries what waits for a time."""

    def __init__(self, broker: Any) -> None:
        super().__init__(broker, WORKER)
        self._thread = threading.local()

    def go_on(self) -> None:
        """Run until nothing is left. What a running task has pushed runs after it, or when its result is read."""
        self._hear_cancels()
        if not self._depth:
            while self._run_ready() or (self._hurry() and self._run_ready()):
                pass

    def step(self) -> bool:
        """Run the next task, whatever runs. False if there is none."""
        return any(map(self.turn, self.broker.pools())) or (self._hurry() and any(map(self.turn, self.broker.pools())))

    def pass_time(self) -> bool:
        """Let the time pass until the next timer of a workflow is due. False if there is none."""
        timers = [
            (due, pool, timer)
            for pool in self.broker.pools()
            for timer, due in self.broker.at(pool).zscan_iter(self.broker.keys(pool).agenda, match="~timer:*")
        ]
        for _, pool, timer in sorted(timers)[:1]:
            self._make_due(pool, [timer])
        return bool(timers) and (self.step() or True)

    def execute(self, lease: Lease) -> Settlement:
        """Run a lease. Its next attempt comes at once. Raises UnknownTask."""
        if lease.fence > MAX_FENCE:
            raise AssertionError(f"the task {lease.id} restarts itself for ever")
        self._thread.depth = self._depth + 1
        try:
            found = super().execute(lease)
        finally:
            self._thread.depth -= 1
        if found.outcome is Outcome.UNKNOWN:
            registry.get(lease.kind, lease.name)
        found.delay_ms = min(found.delay_ms, 0)
        return found

    @property
    def _depth(self) -> int:
        """How many tasks of the store run in this thread, each within the one before."""
        return getattr(self._thread, "depth", 0)

    def _run_ready(self) -> bool:
        found = False
        for pool in self.broker.pools():
            while self.turn(pool):
                found = True
        return found

    def _hurry(self) -> bool:
        """Make due what waits for its time, or for the rate of its lane. False if nothing does."""
        found = False
        for pool in self.broker.pools():
            client, keys = self.broker.at(pool), self.broker.keys(pool)
            tasks = [task for state in TIMED for task in client.zrange(keys.state(state), 0, -1)]
            lanes = [entry for entry, _ in client.zscan_iter(keys.agenda, match="~lane:*")]
            for entry in lanes:
                client.hdel(keys.lane_conf(entry.decode().removeprefix("~lane:")), "tat")
            self._make_due(pool, [*tasks, *lanes])
            found = found or bool(tasks or lanes)
        return found

    def _make_due(self, pool: str, entries: Sequence[Any]) -> None:
        if entries:
            self.broker.at(pool).zadd(self.broker.keys(pool).agenda, dict.fromkeys(entries, 1), xx=True)

    def _hear_cancels(self) -> None:
        """Stop the running tasks that the last call has cancelled."""
        for pool in {lease.pool for lease in self.leases}:
            extend = [Extend(lease.id, lease.fence) for lease in self.leases if lease.pool == pool]
            reply = self.broker.exchange(pool, self.name, RoundTrip(extend=extend))
            for task_id, reason in reply.cancels:
                self.running.cancel(pool, task_id, reason, hard=task_id in reply.hard)
