"""Seeder of history: thirteen months of a pool's history, and the bytes that each level takes.

`python -m tests.support.seed_history [--url URL] [--namespace NAME] [--pool NAME] [--names N] [--lanes N] [--errors N]
[--workers N] [--days N]`
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator

from queueops.conf import Settings
from queueops.model.histogram import bucket
from queueops.model.history import HOUR, LEVELS, MINUTE, Level, Row, Rows, together
from queueops.model.states import State
from queueops.redis.broker import RedisBroker

STEPS_A_CALL = 50
DAY_MS = 86_400_000


def rows_at(ms: int, level: Level, names: int, lanes: int, errors: int = 0, workers: int = 0) -> Rows:
    """The rows of one step: a load that follows the day and the week, with a bad hour each Tuesday night."""
    minutes = level.step_ms // MINUTE.step_ms
    day = 1 + 0.6 * math.sin(2 * math.pi * ms / DAY_MS) - 0.2 * (ms // DAY_MS % 7 > 4)
    bad = ms // DAY_MS % 7 == 5 and ms % DAY_MS // HOUR.step_ms == 3
    found = {f"n|shop.task_{number}": _row(number, minutes, day, bad and number == 0) for number in range(names)}
    total = together(found.values())
    return (
        found
        | {f"l|lane_{number}": _row(number, minutes, day, bad) for number in range(lanes)}
        | {"p": total, f"s|{State.PENDING}": Row(came=total.came, ended=total.ended, waiting=total.waiting)}
        | {f"s|{state}": Row(came=total.ended, waiting=total.ended) for state in (State.SUCCEEDED, State.FAILED)}
        | {
            f"e|seed{number:08}": Row(failed=round(minutes * day) * (40 if bad else 2))
            for number in range(1, errors + 1)
        }
        | {f"w|w{number}": _worker(minutes, day) for number in range(1, workers + 1)}
    )


def _worker(minutes: int, day: float) -> Row:
    able = minutes * 8 * 60_000
    return Row(
        ended=round(minutes * day * 30),
        failed=round(minutes * day / 4),
        running=round(4 * day),
        run_ms=round(able * min(1.0, day / 2)),
        able_ms=able,
        memory=round(80_000_000 * (1 + day / 8)),
    )


def _row(number: int, minutes: int, day: float, bad: bool) -> Row:
    came = round(minutes * day * 60 / (1 + number))
    failed = came // 2 if bad else came // 200
    run, wait = bucket(20 * (1 + number)), bucket(4000 if bad else 40)
    spread = [(0, 4), (1, 3), (2, 2), (3, 1), (5, 1)]
    return Row(
        came=came,
        ended=came - failed // 3,
        failed=failed,
        retried=failed // 3,
        waiting=round(day * (900 if bad else 3)),
        running=round(day * 4),
        oldest_ms=400_000 if bad else 900,
        run_ms=came * 20 * (1 + number),
        runs=tuple(part for step, share in spread if came * share // 11 for part in (run + step, came * share // 11)),
        waits=tuple(part for step, share in spread if came * share // 11 for part in (wait + step, came * share // 11)),
    )


def seed(broker: RedisBroker, pool: str, now_ms: int, *, days: float = 396, **counts_of: int) -> dict[str, int]:
    """Store all steps of the last `days`, as a watchdog does; return how many each level has.

    `counts_of` says how many `names`, `lanes`, `errors` and `workers` each step has.
    """
    counts = {}
    for level in LEVELS:
        last = level.slot(now_ms) - 1
        first = max(level.slot(now_ms - level.kept_s * 1000), level.slot(now_ms - round(days * DAY_MS))) + 1
        for begin in range(first, last + 1, STEPS_A_CALL):
            slots = range(begin, min(begin + STEPS_A_CALL, last + 1))
            steps = {slot: rows_at(slot * level.step_ms, level, **counts_of) for slot in slots}
            broker.keep_history(pool, level, steps, slots[-1])
        counts[level.word] = last - first + 1
    return counts


def sizes(broker: RedisBroker, pool: str) -> Iterator[tuple[Level, int, int]]:
    """Each level with its steps and its bytes in the store."""
    for level in LEVELS:
        names = list(broker.client.scan_iter(f"{broker.keys(pool).prefix}:history:{level.word}:*", count=10_000))
        pipe = broker.client.pipeline(transaction=False)
        for name in names:
            pipe.memory_usage(name, samples=0)
        yield level, len(names), sum(pipe.execute())


def main() -> None:
    """Seed, and print a table of bytes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="redis://127.0.0.1:6379/0")
    parser.add_argument("--namespace", default="queueops")
    parser.add_argument("--pool", default="default")
    parser.add_argument("--names", type=int, default=10)
    parser.add_argument("--lanes", type=int, default=3)
    parser.add_argument("--errors", type=int, default=0)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--days", type=float, default=396)
    options = parser.parse_args()
    broker = RedisBroker(Settings(url=options.url, namespace=options.namespace))
    broker.announce(options.pool)
    counts_of = {what: getattr(options, what) for what in ("names", "lanes", "errors", "workers")}
    seed(broker, options.pool, round(time.time() * 1000), days=options.days, **counts_of)
    for level, count, size in sizes(broker, options.pool):
        print(f"{level.word:>4}: {count:>6,} steps, {size:>12,} bytes, {size // max(1, count):>7,} a step")
    broker.close()


if __name__ == "__main__":
    main()
