"""Seeder of tasks: a pool with very many tasks in all usual states, of many names, lanes, tags and errors.

`python -m tests.support.seed_tasks [--url URL] [--namespace NAME] [--pool NAME] [--count N] [--names N] [--lanes N]`
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator

from queueops.conf import Settings
from queueops.model.contracts import Lease, Outcome, Push, RoundTrip, Settlement
from queueops.model.task_error import StoredError
from queueops.redis.broker import RedisBroker

BATCH = 500
SHARES = {"succeeded": 40, "failed": 8, "restart": 4, "postponed": 5, "cancelled": 3, "pending": 40}
"""Of 100 tasks, so many are in each state. The pending ones come last, so that no worker of the seeder claims them."""
DAY_MS = 86_400_000
ERRORS = 20
WORKER, OWN_LANES = "seeder", ("lane_*",)


def pushes(state: str, count: int, pool: str, names: int, lanes: int, keys: int = 0) -> Iterator[list[Push]]:
    """The pushes of all tasks of a state, in batches."""
    for begin in range(0, count, BATCH):
        yield [
            Push(
                id=f"{state}-{number}",
                name=f"shop.task_{number % names}",
                pool=pool,
                lane=f"lane_{number % lanes}",
                args=b'[[%d,"order"],{}]' % number,
                tags=(f"customer-{number % 20}",),
                priority=number % 3,
                retries=3 if state == "restart" else 0,
                delay_ms=DAY_MS + number if state == "postponed" else None,
                own=(("lk", f"shop-{number % keys}"), ("lm", 1))
                if keys and state == "pending" and number % 50 == 0
                else (),
            )
            for number in range(begin, min(begin + BATCH, count))
        ]


def settlement(lease: Lease) -> Settlement:
    """The end of a task, by the state that its id names."""
    state, _, number = lease.id.partition("-")
    if state == "succeeded":
        return Settlement(lease.id, lease.fence, Outcome.SUCCESS, b"null")
    kind = int(number) % ERRORS
    error = StoredError(type=f"shop.errors.Refused{kind}", message=f"The bank refused the payment {number}.")
    delay_ms = DAY_MS if state == "restart" else -1
    facts = {"fingerprint": f"seed{kind:08}", "title": f"Refused{kind}: the bank refused"}
    return Settlement(lease.id, lease.fence, Outcome.ERROR, error.encoded(), delay_ms, **facts)


def seed(
    broker: RedisBroker, pool: str, count: int, *, names: int = 50, lanes: int = 40, keys: int = 0
) -> Counter[str]:
    """Push, run and cancel; return how many tasks each state has got. Some pending ones wait for so many keys."""
    made: Counter[str] = Counter()
    settle: list[Settlement] = []
    for state, share in SHARES.items():
        for batch in pushes(state, count * share // 100, pool, names, lanes, keys):
            broker.push(batch)
            made[state] += len(batch)
            if state in ("succeeded", "failed", "restart"):
                found = broker.exchange(pool, WORKER, RoundTrip(settle=settle, want=BATCH, lanes=OWN_LANES))
                settle = [settlement(lease) for lease in found.leases]
            elif state == "cancelled":
                broker.control(pool, "cancel", [push.id for push in batch])
        while settle:
            found = broker.exchange(pool, WORKER, RoundTrip(settle=settle, want=BATCH, lanes=OWN_LANES))
            settle = [settlement(lease) for lease in found.leases]
    broker.leave(pool, WORKER)
    return made


def main() -> None:
    """Seed, and print how long it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="redis://127.0.0.1:6379/0")
    parser.add_argument("--namespace", default="queueops")
    parser.add_argument("--pool", default="default")
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--names", type=int, default=50)
    parser.add_argument("--lanes", type=int, default=40)
    options = parser.parse_args()
    broker, begun = RedisBroker(Settings(url=options.url, namespace=options.namespace)), time.monotonic()
    made = seed(broker, options.pool, options.count, names=options.names, lanes=options.lanes)
    seconds = time.monotonic() - begun
    print(f"{made.total():,} tasks in {seconds:.0f} s: {', '.join(f'{n:,} {state}' for state, n in made.items())}")
    broker.close()


if __name__ == "__main__":
    main()
