"""Lease keeper: a short-lived process renews the leases of a worker process that cannot run Python code.

A C extension or a regular expression holds the interpreter of that process, or the machine swaps. The keeper renews
each started task up to its hard limit, and gives back tasks that were only prefetched. It is a separate process, so
that the supervisor never connects to Redis. It works only while the supervisor confirms that the silent process lives.
"""

from __future__ import annotations

import logging
import select
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

import msgspec

from queueops.errors import QueueOpsError
from queueops.model.contracts import Extend, LeaseRef, RoundTrip, Settlement
from queueops.model.ports import Store
from queueops.worker.execution import settlements
from queueops.worker.execution.time_limits import SPARE_MS
from queueops.worker.heartbeat import MAX_RUNNING
from queueops.worker.loop.pool_client import MAX_SETTLE
from queueops.worker.shared_slot_table import NEVER, Condition, Running, SlotTable
from queueops.worker.supervisor.parent_watch import ParentWatch

LOOK_EVERY = 0.1
BEAT_EVERY = 5.0
ANSWER_WITHIN = 0.5
"""Seconds that a round waits for its pools; a slower pool continues beside the next round."""
VOUCHED_FOR = 1.0
"""Maximum seconds since the supervisor's last look. A stopped supervisor must not keep leases."""
NO_ANSWER = "The process did not answer the signal within 2 s. It is stopped, or it waits in the kernel."
"""In place of the stacks."""

logger = logging.getLogger("queueops.worker")


class LeaseKeeper:
    """The leases of one silent process. Its last sign of life was at ``sign`` of the monotonic clock."""

    def __init__(
        self,
        connect: Callable[[], Store],
        worker: str,
        table: SlotTable,
        sign: float,
        stacks: Callable[[], str] = lambda: "",
    ) -> None:
        """``stacks`` asks the process for the stacks of its threads, by a signal; empty if it does not answer."""
        self._connect = connect
        self._worker = worker
        self._table = table
        self._sign = sign
        self._stacks = stacks
        self._threads: dict[str, threading.Thread] = {}
        self._one_dump = threading.Lock()
        self._names: dict[tuple[str, int], str] = {}  # of the running tasks, by pool and fence
        self._silent_since = round((time.time() - (time.monotonic() - sign)) * 1000)

    def run(self, pools: Sequence[str], lease: float, parent_watch: ParentWatch) -> int:
        """Renew until the process gives a sign of life, or its supervisor has ended; return the exit status."""
        every, due, told = min(lease / 3, BEAT_EVERY), 0.0, Condition.LIVE
        while self.is_needed():
            now, condition = time.monotonic(), self._table.condition
            if now - self._table.watched < VOUCHED_FOR and (now >= due or condition is not told):
                due, told = now + every, condition
                self.speak(pools)
            if select.select([parent_watch], [], [], LOOK_EVERY)[0]:
                break
        return 0

    def is_needed(self) -> bool:
        """Whether the process is not live, and has given no sign of life since ``sign``."""
        return self._table.last_sign == self._sign and self._table.condition is not Condition.LIVE

    def speak(self, pools: Iterable[str]) -> None:
        """Renew, give back and send a heartbeat in each pool; an unreachable pool is retried in the next round.

        Each pool has its own thread: a server that does not answer delays no other pool.
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
            store.beat(pool, self._worker, fields | {"silent_since": self._silent_since} | self._running(store, pool))
            self.tell_stacks(store, pool)
        except QueueOpsError as error:
            logger.warning("Pool %s: the leases of the silent process %s could not be renewed: %s",
                           pool, self._worker, error)  # fmt: skip
        except Exception:  # the keeper survives it: the other pools need it
            logger.exception("Pool %s: the leases of the silent process %s could not be renewed", pool, self._worker)

    def _running(self, store: Store, pool: str) -> dict[str, int | bytes]:
        """What the process runs: its own last heartbeat is older than the task that holds it."""
        running, ahead = self._table.running(), time.time() - time.monotonic()
        for task in running:
            if task.pool == pool and (pool, task.fence) not in self._names:
                with suppress(QueueOpsError):  # a name alone: the beat itself says that the process is looked after
                    record = store.record(pool, task.id)
                    self._names[pool, task.fence] = record.name if record is not None else ""
        rows = [
            (task.id, self._names.get((task.pool, task.fence), ""), round((task.started + ahead) * 1000), task.pool)
            for task in running[:MAX_RUNNING]
        ]
        return {"busy": len(running), "running": msgspec.json.encode(rows)}

    def tell_stacks(self, store: Store, pool: str) -> None:
        """Store the stacks of the process, if an operator has asked for them in this pool."""
        if store.wants_stack(pool, self._worker):
            with self._one_dump:  # the pools share the file
                found = self._stacks()
            store.keep_stack(pool, self._worker, found or NO_ANSWER)

    def renew(self, store: Store, pool: str) -> None:
        """Renew the leases of started tasks, and give back the leases of unstarted ones.

        The leases are read before the check of the process. So leases that the process claims after its first sign of
        life are not among them. Tasks that it claimed before belong to an earlier epoch, so it does not start them any
        more.
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
            elif fence <= newest:  # the task has ended, and its outcome has not been sent yet
                extend.append(Extend(id, fence))
            elif not handed:  # a handed-over lease is short, and its expiry is not charged to the task
                settle.append(settlements.unstarted(LeaseRef(pool, id, fence), settlements.TAKEN_OVER))
        while settle or extend:
            reply = store.exchange(pool, self._worker, RoundTrip(settle=settle[:MAX_SETTLE], extend=extend))
            settle, extend = settle[MAX_SETTLE:], []
            for task in started.values():
                if task.id in reply.hard:
                    self._table.condemn(task)


def _left_ms(running: Running) -> int:
    if running.deadline == NEVER:
        return -1
    return max(0, round((running.deadline - time.monotonic()) * 1000)) + SPARE_MS
