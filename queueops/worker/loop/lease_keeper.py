"""Lease keeper: a short-lived process that speaks for a worker process which cannot run Python code.

Something in that process holds the interpreter (a C extension, a regular expression), or the machine swaps. The keeper
renews what has been started there, up to each task's hard limit, and gives back what was only fetched. It is a process
of its own so that the supervisor never talks to Redis. It works while the supervisor vouches for the silent process.
"""

from __future__ import annotations

import logging
import select
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from queueops.errors import QueueOpsError
from queueops.model.contracts import Extend, Outcome, Settlement
from queueops.worker.execution.time_limits import SPARE_MS
from queueops.worker.loop import settlements
from queueops.worker.loop.pool_client import MAX_SETTLE
from queueops.worker.supervisor.crash_recovery import Store
from queueops.worker.supervisor.parent_watch import ParentWatch
from queueops.worker.supervisor.shared_slot_table import NEVER, Condition, Running, SlotTable

LOOK_EVERY = 0.1
BEAT_EVERY = 5.0
ANSWER_WITHIN = 0.5
"""Seconds that a round waits for the pools; those that need longer go on beside the next one."""
VOUCHED_FOR = 1.0
"""Seconds since the last look of the supervisor. A supervisor that is stopped as well keeps no leases."""

logger = logging.getLogger("queueops.worker")


class LeaseKeeper:
    """The leases of one silent process, whose last sign of life was at ``sign`` of the monotonic clock."""

    def __init__(self, connect: Callable[[], Store], worker: str, table: SlotTable, sign: float) -> None:
        self._connect = connect
        self._worker = worker
        self._table = table
        self._sign = sign
        self._threads: dict[str, threading.Thread] = {}
        self._silent_since = round((time.time() - (time.monotonic() - sign)) * 1000)

    def run(self, pools: Sequence[str], lease: float, lifeline: ParentWatch) -> int:
        """Speak for the process until it gives a sign of life, or its supervisor has ended; the exit status."""
        every, due, told = min(lease / 3, BEAT_EVERY), 0.0, Condition.LIVE
        while self.is_needed():
            now, condition = time.monotonic(), self._table.condition
            if now - self._table.watched < VOUCHED_FOR and (now >= due or condition is not told):
                due, told = now + every, condition
                self.speak(pools)
            if select.select([lifeline], [], [], LOOK_EVERY)[0]:
                break
        return 0

    def is_needed(self) -> bool:
        """Whether the process has given no sign of life since."""
        return self._table.last_sign == self._sign and self._table.condition is not Condition.LIVE

    def speak(self, pools: Iterable[str]) -> None:
        """Renew, give back and beat in each pool; what cannot be reached is tried again with the next round.

        Each pool has a thread of its own: a server that does not answer holds up no other pool.
        """
        for pool in pools:
            if (busy := self._threads.get(pool)) is None or not busy.is_alive():
                thread = threading.Thread(target=self._speak, args=(pool,), name=f"queueops-keep-{pool}", daemon=True)
                self._threads[pool] = thread
                thread.start()
        until = time.monotonic() + ANSWER_WITHIN
        for thread in self._threads.values():
            thread.join(max(0.0, until - time.monotonic()))

    def _speak(self, pool: str) -> None:
        try:
            store = self._connect()
            self.renew(store, pool)
            fields: dict[str, str | int | bytes] = {"state": self._table.condition.name.lower()}
            store.beat(pool, self._worker, fields | {"silent_since": self._silent_since})
        except QueueOpsError as error:
            logger.warning("Pool %s: the leases of the silent process %s could not be renewed: %s",
                           pool, self._worker, error)  # fmt: skip
        except Exception:  # the keeper lives through it: the other pools need it
            logger.exception("Pool %s: the leases of the silent process %s could not be renewed", pool, self._worker)

    def renew(self, store: Store, pool: str) -> None:
        """Renew what has been started, and give back what has not.

        The leases are read before the look at the process: what a process claims after its first sign of life is not
        among them. What it had claimed before belongs to an earlier epoch, so it does not start it any more.
        """
        held = store.held(pool, self._worker)
        started = {task.fence: task for task in self._table.running() if task.pool == pool}
        newest = self._table.newest_started(pool)
        if not self.is_needed():
            return
        extend: list[Extend] = []
        settle: list[Settlement] = []
        for id, fence, handed in held:
            if fence in started:
                extend.append(Extend(id, fence, _left_ms(started[fence])))
            elif fence <= newest:  # it has ended, and its outcome has not been told yet
                extend.append(Extend(id, fence))
            elif not handed:  # such a lease is short, and its end costs the task nothing
                settle.append(Settlement(id, fence, Outcome.RELEASE, settlements.TAKEN_OVER.encode()))
        while settle or extend:
            reply = store.exchange(pool, self._worker, settle=settle[:MAX_SETTLE], extend=extend)
            settle, extend = settle[MAX_SETTLE:], []
            for task in started.values():
                if task.id in reply.hard:
                    self._table.condemn(task)


def _left_ms(running: Running) -> int:
    if running.deadline == NEVER:
        return -1
    return max(0, round((running.deadline - time.monotonic()) * 1000)) + SPARE_MS
