"""Tasks of all kinds for a large store: jobs, callbacks, workflows, map-reduce tasks, composites, and what runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from queueops.redis.broker import RedisBroker

WORKER = "w1"
DAY_MS = 86_400_000
JOB_HANDLER = "benchmarks.resize"
AGGREGATIONS, HOSTS = 50, 5
SCHEDULES = 10


def make(broker: RedisBroker, pool: str, tasks: int) -> None:
    """Make a tenth of the tasks of an empty pool, each of a kind that is not plain."""
    _jobs(pool, tasks // 20)
    _runs(pool, tasks // 50)
    _composites(broker, pool, tasks // 1000)
    _schedules(broker, pool)
    _quarantined(broker, pool, tasks // 2000)


def make_parent(broker: RedisBroker, pool: str, id: str, chunks: int) -> None:
    """A map-reduce task in a lane of its own that is half done; its other chunks wait."""
    from tests.support.chunkwork import ChunkWork

    work = ChunkWork(broker, id, pool, lane=id)
    work.map(range(chunks))
    for _ in range(chunks // 2 // 200):
        numbers = work.claim(200)
        work.fail(numbers[:2])
        work.fail(numbers[2:4], delay_ms=DAY_MS)
        work.done(numbers[4:])


def _jobs(pool: str, count: int) -> None:
    """Half of them end, and have callbacks, of which some wait."""
    from queueops import control, jobs
    from queueops.testing import run_worker

    @jobs.job_handler(JOB_HANDLER)
    def resize(job: jobs.Job) -> str:
        if job.extra.endswith("7"):
            raise ValueError("The image is broken.")
        return job.extra

    for number in range(1, HOSTS):
        control.pause_lane(pool, f"to:host{number}.example", new=True)

    def submit(numbers: range) -> None:
        jobs.submit_many(
            {"aggregation": f"shop {number % AGGREGATIONS}", "handler": JOB_HANDLER, "extra": f"{number}", "retries": 0}
            | {"pool": pool, "callback_url": f"https://host{number % HOSTS}.example/done", "keep": 30 * 86_400}
            for number in numbers
        )

    submit(range(count // 2))
    run_worker(pools=[pool], at_most=10 * count)
    submit(range(count // 2, count))
    for number in range(AGGREGATIONS):
        control.pause_aggregation(f"shop {number}", pool=pool, new=True)


def _runs(pool: str, count: int) -> None:
    """Half of them sleep."""
    from queueops.testing import run_worker
    from tests.soak import measured

    measured.one.using(pool=pool).push_many([()] * (count // 2))
    measured.sleeps.using(pool=pool).push_many([()] * (count // 2))
    run_worker(pools=[pool], at_most=10 * count)


def _composites(broker: Any, pool: str, count: int) -> None:
    from tests.composites.trees import chain_of, group_of, nodes_of

    for number in range(count):
        for tree in (
            group_of(f"group-{number}", *(f"group-{number}.{part}" for part in range(8))),
            chain_of(f"chain-{number}", *(f"chain-{number}.{part}" for part in range(4))),
        ):
            nodes = nodes_of(tree)
            for node in nodes:
                node.push.pool = pool
                node.push.lane = "composites"
            broker.plant(nodes)
    broker.lane(pool, "composites", paused="1")


def _schedules(broker: RedisBroker, pool: str) -> None:
    from time import time

    from queueops.model.contracts import Push
    from queueops.schedules.definition import ScheduleDefinition

    for number in range(SCHEDULES):
        push = Push(id="", name=f"shop.task_{number}", pool=pool)
        made = ScheduleDefinition(id=f"{pool}-{number}", push=push, line=f"{number} * * * *", zone="UTC")
        broker.put_schedule(pool, made, round(time() * 1000) + DAY_MS)


def _quarantined(broker: RedisBroker, pool: str, count: int) -> None:
    from queueops.model.contracts import Outcome, Push, RoundTrip, Settlement

    broker.push([Push(id=f"strange-{number}", name="shop.gone", pool=pool, lane="strange") for number in range(count)])
    leases = broker.exchange(pool, WORKER, RoundTrip(want=count)).leases
    ends = [Settlement(lease.id, lease.fence, Outcome.QUARANTINE, b"its name is not known") for lease in leases]
    broker.exchange(pool, WORKER, RoundTrip(settle=ends))


def occupy(broker: RedisBroker, pool: str, most: int = 100) -> None:
    """Claim tasks, so that a worker runs them."""
    from queueops.model.contracts import RoundTrip

    facts = {"host": "web1", "pid": 4711, "slots": most, "busy": most, "version": "1", "started": 1}
    broker.beat(pool, WORKER, facts | {"names": "", "state": "live", "pools": pool})
    assert broker.exchange(pool, WORKER, RoundTrip(want=most)).leases
