"""Actions on worker processes: requests, which the next heartbeat confirms."""

from __future__ import annotations

from queueops.redis.broker import get_broker
from queueops.redis.reader import Reader

MOST = 500


def quiet_worker(id: str) -> bool:
    """Ask a worker to claim no more tasks; its present tasks run to their end. False if no worker has this id."""
    return _tell(id, "quiet")


def stop_worker(id: str) -> bool:
    """Ask a worker process to end, within its grace time. False if no worker has this id."""
    return _tell(id, "stop")


def dump_stacks(id: str) -> bool:
    """Ask a worker process for the stacks of its threads; its page shows them. False if no worker has this id.

    A process that cannot run Python code answers, too, by a signal of its supervisor's lease keeper.
    """
    return _tell(id, "stack")


def _tell(worker: str, token: str) -> bool:
    """Send a wake-up token through one of the worker's pools: it listens to all of them."""
    broker = get_broker()
    reader = Reader(broker)
    _, beats = reader.workers(reader.pools(), MOST)
    pool = next((pool for pool, beat in beats if beat.id == worker), None)
    if pool is None:
        reader.ensure_all()
        return False
    broker.tell(pool, worker, token)
    return True
