"""History: `python -m tests.benchmarks.history [--tasks N] [--rounds N]` measures what it costs the store in a drain.

A server of its own gets tasks of 50 names in 50 lanes. One client claims and settles them as fast as it can, in parts
of 100, and sends its counts each second, as a worker does. A second here is one of the processor time of client and
store together: they take turns, so on a quiet machine it is one of the clock. What is kept for the history alone is
then done again, many times, with the counts of that drain:

- counters: the counts by lane that a worker sends each second,
- gauges: what the watchdog's sample notes once a minute, of waiting and running tasks, errors and workers,
- roll-up: the rows of a minute, and a tenth and a sixtieth of those of ten minutes and an hour,
- marks: the report of alarms and starts of workers, each five seconds.

Printed is the processor time of the store for a minute of each, and its share of that of a minute of the drain: the
medians of the rounds. A further worker process adds its counters, and its part of the drain.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from time import thread_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from queueops.redis.broker import RedisBroker

TASKS, ROUNDS, MOST_SHARE = 200_000, 3, 0.02
NAMES = LANES = 50
PART, PARTS_A_LOOK, TIMES, MINUTES = 100, 10, 50, 60
POOL, WORKER = "default", "w1"


class Bench:
    """One server: what its processor time was used for."""

    def __init__(self, broker: RedisBroker) -> None:
        self.broker, self.counts = broker, dict[str, int]()

    def used(self) -> float:
        """Seconds of the processor that the server has used so far."""
        cpu = self.broker.client.info("cpu")
        return float(cpu["used_cpu_user"]) + float(cpu["used_cpu_sys"])

    def cost(self, work: Callable[[], object], times: int = TIMES) -> float:
        """Seconds of the server's processor for one time, the mean of many."""
        before = self.used()
        for _ in range(times):
            work()
        return (self.used() - before) / times

    def fill(self, count: int) -> None:
        """Push the tasks, which a worker knows by their names."""
        from queueops.model.contracts import Push

        for start in range(0, count, 500):
            numbers = range(start, start + 500)
            self.broker.push(
                [Push(id=f"t{n}", name=f"app.name_{n % NAMES}", lane=f"lane_{n % LANES}") for n in numbers]
            )
        facts = {"names": "", "state": "live", "pools": POOL, "slots": 8, "busy": 8, "started": 1, "done": count}
        self.broker.beat(POOL, WORKER, facts)

    def drain(self, count: int) -> tuple[float, float]:
        """Claim and settle all; seconds of the processor of both, and of the server's alone."""
        from queueops.model.contracts import Outcome, RoundTrip, Settlement
        from queueops.worker.loop.metrics_buffer import MetricsBuffer

        buffer, settle, ended = MetricsBuffer(), list[Settlement](), 0
        times = random.Random(14)
        before, begun, parts, spent = self.used(), thread_time(), 0, 0.0
        while ended < count:
            spent = self.used() - before if parts % PARTS_A_LOOK == 0 else spent
            sent, parts = buffer.due(1 + spent + thread_time() - begun), parts + 1
            trip = RoundTrip(settle=settle, want=PART, metrics=sent or {})
            leases = self.broker.exchange(POOL, WORKER, trip).leases
            self.counts = sent or self.counts
            ended += len(settle)
            settle = [Settlement(lease.id, lease.fence, Outcome.SUCCESS, b"null") for lease in leases]
            for lease, end in zip(leases, settle, strict=True):
                buffer.add(lease, end, times.lognormvariate(3, 1))
        spent = self.used() - before
        return spent + thread_time() - begun, spent

    def counters(self) -> float:
        """A minute of the counts by lane: those of a send each second, against the same send without them."""
        plain = {field: count for field, count in self.counts.items() if not field.startswith("@")}
        return MINUTES * (self.cost(lambda: self._send(self.counts)) - self.cost(lambda: self._send(plain)))

    def _send(self, counts: Mapping[str, int]) -> None:
        from queueops.model.contracts import RoundTrip

        self.broker.exchange(POOL, WORKER, RoundTrip(metrics=counts))

    def gauges(self) -> float:
        """A minute of the sample's notes: the first sample of a minute, against another one of it."""
        first, other = self.cost(lambda: self._sample(True)), self.cost(lambda: self._sample(False))
        return first - other

    def _sample(self, is_first: bool) -> None:
        client, keys = self.broker.client, self.broker.keys(POOL)
        client.delete(f"{keys.prefix}:sampler")
        client.hdel(keys.metrics(self._minute()), "@g|p" if is_first else "none")
        self.broker.draw(POOL, "bench", 900)

    def _minute(self) -> int:
        seconds, _ = self.broker.client.time()
        return int(seconds) // 60

    def rollup(self) -> float:
        """A minute of the roll-up: that of sixty minutes, each as the last one, with their longer steps."""
        from queueops.watchdog.history_rollup import HistoryRollup

        client, keys, now = self.broker.client, self.broker.keys(POOL), self._minute()
        full = max((keys.metrics(now - ago) for ago in range(3)), key=client.hlen)
        hour = now // 60 * 60 - MINUTES
        for minute in range(hour, hour + MINUTES):
            client.copy(full, keys.metrics(minute), replace=True)
        client.hset(keys.clock, mapping={"h1m": hour - 1, "h10m": hour // 10 - 1, "h1h": hour // 60 - 1})
        rollup, end_ms = HistoryRollup(self.broker), (hour + MINUTES) * 60_000 + 1

        def whole() -> None:
            rolled = 0
            while steps := rollup.go_on(POOL, end_ms):
                rolled += steps
            assert rolled == MINUTES + MINUTES // 10 + 1, rolled

        return self.cost(whole, times=1) / MINUTES

    def marks(self) -> float:
        """A minute of reports."""
        from queueops.model.marks import Condition

        alarms = [Condition(f"growing {number}", f"The backlog grows: {number}.", "warning") for number in range(3)]
        return 12 * self.cost(lambda: self.broker.keep_marks(POOL, alarms, []))


def measure(bench: Bench, tasks: int) -> dict[str, float]:
    """Seconds of the server's processor for a minute of the drain, and of each part of the history."""
    bench.broker.client.flushall()
    bench.fill(tasks)
    took, used = bench.drain(tasks)
    print(
        f"{tasks:,} tasks in {took:.1f} s of the processor, {used / tasks * 1e6:.0f} us of the store for each",
        flush=True,
    )
    parts = {word: getattr(bench, word)() for word in ("counters", "gauges", "rollup", "marks")}
    return {"drain": used / took * 60} | parts


def main() -> int:
    """Start a server, measure, print; 1 if the history takes more than its share."""
    from tests.benchmarks.server import running

    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.history", description=__doc__)
    parser.add_argument("--tasks", type=int, default=TASKS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running("valkey", True, Path(folder)) as server:
        os.environ |= {"DJANGO_SETTINGS_MODULE": "tests.settings", "QUEUEOPS_TESTS_URL": server.url}
        import django

        django.setup()
        from queueops.redis.broker import get_broker

        bench = Bench(get_broker())
        rounds = [measure(bench, options.tasks) for _ in range(options.rounds)]
    drain = median(each["drain"] for each in rounds)
    shares = {word: median(each[word] / each["drain"] for each in rounds) for word in rounds[0] if word != "drain"}
    print(f"{'drain':10} {drain * 1000:9,.1f} ms of the store's processor in a minute")
    for word, share in shares.items():
        print(f"{word:10} {median(each[word] for each in rounds) * 1000:9,.1f} ms {share:7.2%}")
    whole = median(sum(each[word] for word in shares) / each["drain"] for each in rounds)
    print(f"{'history':10} {'':12} {whole:7.2%} of the drain; at most {MOST_SHARE:.0%}")
    return int(whole > MOST_SHARE)


if __name__ == "__main__":
    sys.exit(main())
