"""Crash recovery: a short-lived process gives back the tasks of a worker process that died.

It is a separate process, so that the supervisor never connects to Redis and never waits for it. If Redis cannot be
reached in time, the leases expire, and the watchdog handles the tasks.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from queueops.errors import QueueOpsError
from queueops.model import observers, retry
from queueops.model.contracts import Outcome, Settlement
from queueops.model.ports import Store
from queueops.worker.execution import failure
from queueops.worker.shared_slot_table import Running

GIVE_UP_AFTER = 60.0
logger = logging.getLogger("queueops.worker")

Judgement = Mapping[str, Mapping[str, Settlement]]
"""Pool -> id -> how a started task of the dead process ends."""


def judge(
    running: Iterable[Running],
    offenders: Iterable[Running],
    reason: str,
    *,
    crashed: bool,
    company: Mapping[tuple[str, str], int] | None = None,
) -> Judgement:
    """Decide how each started task ends: offenders by a timeout, the others by the crash rule or without a charge.

    ``company`` maps each (pool, id) to the task's number of shared crashes; 0 if it is charged with this crash.
    """
    guilty = {(running.pool, running.fence) for running in offenders}
    judged: dict[str, dict[str, Settlement]] = {}
    for task in running:
        if (task.pool, task.fence) in guilty:
            settlement = _timeout(task)
        elif crashed:
            settlement = _crash(task, reason, (company or {}).get((task.pool, task.id), 0))
        else:
            settlement = Settlement(task.id, task.fence, Outcome.RELEASE, reason.encode())
        judged.setdefault(task.pool, {})[task.id] = settlement
    return judged


def give_back(connect: Callable[[], Store], worker: str, pools: Iterable[str], judged: Judgement) -> int:
    """Take back every lease of ``worker``; the exit status says whether Redis could be reached.

    All pools are handled in parallel: a server that does not answer delays no other pool.
    """
    deadline, pools = time.monotonic() + GIVE_UP_AFTER, list(pools)
    with ThreadPoolExecutor(len(pools), "queueops-recovery") as threads:
        each = [threads.submit(_give_back, connect, worker, pool, judged.get(pool, {}), deadline) for pool in pools]
    return max(status.result() for status in each)


def _give_back(
    connect: Callable[[], Store], worker: str, pool: str, ends: Mapping[str, Settlement], deadline: float
) -> int:
    while True:
        try:
            broker = connect()
            _set_delays(broker, pool, ends.values())
            count = broker.recover(pool, worker, ends)
            broker.leave(pool, worker)
            break
        except QueueOpsError as error:
            if time.monotonic() > deadline:
                logger.error("The tasks of %s wait for the end of their leases: %s", worker, error)
                return 1
            time.sleep(0.5)
    if count:
        logger.info("Took back %d tasks of %s in pool %s", count, worker, pool)
    observers.tell_killed(pool, ends)
    return 0


def _set_delays(broker: Store, pool: str, ends: Iterable[Settlement]) -> None:
    """Set the back-off of each task that timed out, by the task's own retry policy."""
    for end in ends:
        if end.outcome is Outcome.TIMEOUT:
            policy, attempts = broker.retry_policy(pool, end.id)
            end.delay_ms = retry.parse(policy).delay_ms(attempts + 1)


def _crash(task: Running, reason: str, deaths: int) -> Settlement:
    others = "; others ran in it too, and nothing says that this one was the cause" if deaths else ""
    said = f"its worker process died: {reason}{others}"
    return Settlement(task.id, task.fence, Outcome.CRASH, said.encode(), delay_ms=-deaths)


def _timeout(task: Running) -> Settlement:
    seconds = task.deadline - task.started
    error = failure.plain("HardTimeout", f"The task did not stop within {seconds:.1f} s, so its process was killed.")
    title = failure.title_of(error)
    return Settlement(task.id, task.fence, Outcome.TIMEOUT, error.encoded(), fingerprint=error.fingerprint, title=title)
