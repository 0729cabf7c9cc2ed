"""Pages: `python -m tests.benchmarks.pages [--tasks N ...] [--server redis] [--runs N]` measures the console's pages.

A server of its own gets the tasks, 1,000,000 by default, of all kinds and in all states, and 13 months of history.
With several numbers the same store grows from each to the next, and what grows with it is named. `--url` measures a
store that `large_store` has filled.

Columns: time, and the least of all runs; processor time of the thread; processor time of the store; its commands, with
those within functions; round trips; kB that the store sent; the slowest command; kB of the page. Each is a median, but
the slowest command is the least of all runs. A busy machine makes times longer, and processor times too: the last line
says how fast the machine was. The status is 1 if a page grows.
Readings that a process shares for less than 20 s are made anew. So only the releases of errors are shared, and the
status head, as between all pages that are open.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import monotonic, perf_counter, thread_time, time
from typing import Any, NamedTuple

TASKS, RUNS = 1_000_000, 9
MOST_TRIPS, MOST_BLOCKED_MS = 5, 10.0
LIST_MS, OTHER_MS = 100, 50
GROWN, SOME = 1.2, 20
"""A page has grown if its commands are so many times as many, and so many more."""
NAME, LANE = "shop.task_1", "lanes/default/lane_1/"
LISTS = ("tasks/", "errors/", "lanes/", "workers/", "registry/", "schedules/", "commands/", "audit/", "workflows/")
STATES = (
    *("pending", "locked", "restart", "postponed", "waiting", "idle", "quarantined"),
    *("succeeded", "failed", "cancelled", "finished"),
)
PAGES = (
    *("", "?range=1h", "?range=14d", "?at={yesterday}", "_overview", "_status", "_history?range=24h"),
    *("tasks/", "tasks/_rows", *(f"tasks/?state={state}" for state in STATES)),
    *(
        f"tasks/?name={NAME}",
        f"tasks/_rows?name={NAME}",
        "tasks/?tag=customer-3",
        "tasks/?lane=lane_1",
        "tasks/?pool=mail",
    ),
    *("tasks/?lane=lane_1&state=failed", f"tasks/?name={NAME}&tag=customer-3", "tasks/?error=seed00000001"),
    *("tasks/?kind=job", "tasks/?kind=callback&state=failed", "tasks/?q=key:shop-1*", "tasks/?q=id:failed-12*"),
    *("tasks/?q=age>1m -lane:lane_1", "tasks/?q=nowhere", "tasks/?contains=order", "tasks/?contains=nowhere"),
    *("tasks/?q=error:refused", "tasks/_search?contains=nowhere", "tasks/?sort=-name"),
    *("tasks/failed-8/", "tasks/pending-7/why/", "tasks/failed-8/attempts/", "tasks/failed-8/_live?tab=summary"),
    *("tasks/count-0/", "tasks/count-0/chunks/", "mapreduce/", "tasks/group-0/", "tasks/group-0/children/"),
    *("errors/", "errors/seed00000001/", "errors/seed00000001/?range=14d", "errors/seed00000001/?at={yesterday}"),
    *("lanes/", LANE, f"{LANE}?at={{yesterday}}", "pools/default/"),
    *("workers/", "workers/w1/", "workers/w1/?at={yesterday}"),
    *("registry/", f"registry/{NAME}/", f"registry/{NAME}/?at={{yesterday}}"),
    *(
        "find/?q=failed-8",
        "find/?q=failed-",
        "find/?q=task_1",
        "_palette?q=failed-12",
        "_palette?q=task_1",
        "_palette?q=lane_",
    ),
    *("tasks/_complete?text=name:shop", "tasks/_complete?text=lane:", "tasks/_complete?text=tag:cust"),
    *("workflows/", "workflows/_rows", "workflows/_search?instance=order*", "aggregations/", "callbacks/", "files/"),
    *("schedules/", "commands/", "alerts/", "audit/", "settings/"),
)


class Measured(NamedTuple):
    """What one request of a page costs."""

    ms: float
    least_ms: float
    cpu_ms: float
    store_ms: float
    commands: float
    trips: float
    read_kb: float
    slowest_ms: float
    kb: float

    def row(self) -> str:
        """Its cells."""
        return (
            f"{self.ms:.0f} | {self.least_ms:.0f} | {self.cpu_ms:.0f} | {self.store_ms:.1f} "
            f"| {self.commands:,.0f} | {self.trips:.0f} | {self.read_kb:.0f} | {self.slowest_ms:.1f} | {self.kb:.0f}"
        )


class Store:
    """The server, and what it counts for itself."""

    def __init__(self, client: Any) -> None:
        self.client = client
        client.config_set("slowlog-max-len", 1000)
        client.config_set("slowlog-log-slower-than", 500)

    @contextmanager
    def counting(self, into: list[dict[str, float]]) -> Iterator[None]:
        """Count what the block asks for."""
        self.client.config_resetstat()
        self.client.slowlog_reset()
        began = self._used()
        yield
        used, stats = self._used() - began, self.client.info("stats")
        rows = self.client.info("commandstats")
        asked = ("cmdstat_info", "cmdstat_config", "cmdstat_slowlog")
        into.append(
            {
                "store_ms": used * 1000,
                "commands": sum(row["calls"] for name, row in rows.items() if not name.startswith(asked)),
                "read_kb": stats["total_net_output_bytes"] / 1000,
                "slowest_ms": max((each["duration"] for each in self.client.slowlog_get(1000)), default=0) / 1000,
            }
        )

    def _used(self) -> float:
        cpu = self.client.info("cpu")
        return float(cpu["used_cpu_user"]) + float(cpu["used_cpu_sys"])


class Clock:
    """The clock of the readings that requests share: it skips 20 s before each request."""

    skipped_s = 0.0

    def __call__(self) -> float:
        """Its seconds."""
        return monotonic() + self.skipped_s


CLOCK, SKIPPED_S = Clock(), 20.0


COUNTERS = {
    f"{counter}|shop.task_{number}{rest}": 10
    for number in range(100)
    for counter, rests in {"in": ("",), "ok": ("",), "ms": ("",), "wait": ("|3", "|5"), "run": ("|3", "|5")}.items()
    for rest in rests
}
"""What workers count within a minute: a hundred names run."""


def addition_ms(turns: int = 50, additions: int = 100_000) -> float:
    """The median of the processor time that 100,000 additions take: how fast the machine is now."""
    took = []
    for _ in range(turns):
        began, total = thread_time(), 0
        for number in range(additions):
            total += number
        took.append((thread_time() - began) * 1000)
    return median(took)


def measure(client: Any, store: Store, page: str, runs: int) -> Measured:
    """The medians of a page, without its first request, which loads templates and functions.

    The slowest command is the least of all runs: a busy machine makes commands longer, and never shorter.
    """
    from tests.support.monitoring import counted_trips

    took, used, trips, told = [], [], [], list[dict[str, float]]()
    address = f"/ops/{page}"
    content = client.get(address).content
    for _ in range(runs):
        watch()
        with store.counting(told):
            CLOCK.skipped_s += SKIPPED_S
            begun, began = perf_counter(), thread_time()
            with counted_trips() as counted:
                answer = client.get(address)
            took.append((perf_counter() - begun) * 1000)
            used.append((thread_time() - began) * 1000)
        trips.append(counted.made)
        assert answer.status_code in (200, 204, 302, 404), (page, answer.status_code)
    figures = {name: median(each[name] for each in told) for name in told[0]}
    figures["slowest_ms"] = min(each["slowest_ms"] for each in told)
    times = {"ms": median(took), "least_ms": min(took), "cpu_ms": median(used)}
    return Measured(**times, trips=median(trips), kb=len(content) / 1000, **figures)


def watch() -> None:
    """What watchdogs and workers do each second."""
    from queueops.redis.broker import get_broker

    broker = get_broker()
    for pool in broker.pools():
        broker.client.hset(broker.keys(pool).metrics(round(time()) // 60), mapping=COUNTERS)
        broker.client.delete(broker.keys(pool).sampler)
        broker.draw(pool, "pages", 900)
        broker.beat(pool, "w1", {"state": "live"})


def table(store: Store, runs: int, only: str = "") -> dict[str, Measured]:
    """Print a row for each page."""
    from datetime import UTC, datetime, timedelta

    from django.contrib.auth.models import User
    from django.test import Client

    from console.ui import render
    from queueops.inspect import shared_readings
    from queueops.redis.broker import get_broker

    vars(shared_readings).update(monotonic=CLOCK)
    render.STATUS_AGE_S = float("inf")
    client, pools = Client(), len(get_broker().pools())
    client.force_login(User.objects.get_or_create(username="pages", is_superuser=True)[0])
    yesterday = f"{datetime.now(UTC) - timedelta(days=1):%Y-%m-%dT%H:%MZ}"
    heads = "page | ms | least ms | CPU ms | store CPU ms | commands | trips | kB read | slowest ms | kB"
    print(f"\n| {heads} |\n{'|---' * 10}|")
    found = {}
    for page in PAGES:
        if only not in page:
            continue
        found[page] = each = measure(client, store, page.format(yesterday=yesterday), runs)
        budget = LIST_MS if page in LISTS or page.startswith(("tasks/?", "tasks/_rows")) else OTHER_MS
        words = {
            "**slow**": each.cpu_ms + each.store_ms > budget,
            "**chatty**": each.trips > MOST_TRIPS,
            "**blocks**": min(each.slowest_ms, each.store_ms / pools) > MOST_BLOCKED_MS,
        }
        print(
            f"| `/{page}` | {each.row()} {' '.join(word for word, is_over in words.items() if is_over)} |", flush=True
        )
    print(f"\n100,000 additions in Python: {addition_ms():.1f} ms of processor time.", flush=True)
    return found


def growth(tables: dict[int, dict[str, Measured]]) -> list[str]:
    """The pages that ask for more, or send more, of a store with more tasks."""
    (least, before), *_ = tables.items()
    found = []
    for tasks, after in tables.items():
        for page, row in after.items():
            for what in ("commands", "read_kb", "kb", "store_ms"):
                small, large = getattr(before[page], what), getattr(row, what)
                some = {"commands": SOME, "store_ms": 2}.get(what, 5)
                if large > GROWN * small and large > small + some:
                    found.append(
                        f"/{page} grows from {least:,} to {tasks:,} tasks: {what} {small:,.1f} to {large:,.1f}"
                    )
    return found


def add_history(broker: Any) -> None:
    """13 months of it."""
    from tests.benchmarks.kinds_of_tasks import occupy
    from tests.support import seed_history

    seed_history.seed(broker, "default", round(time() * 1000), names=50, lanes=40, errors=10, workers=4)
    occupy(broker, "default")


def main() -> int:
    """Start a server, fill it, measure."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.pages", description=__doc__)
    parser.add_argument("--tasks", type=int, nargs="+", default=[TASKS])
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--server", choices=("valkey", "redis"), default="valkey")
    parser.add_argument("--url", help="a store that was filled by tests.benchmarks.large_store")
    parser.add_argument("--only", default="", help="a part of the addresses to measure")
    options = parser.parse_args()
    from tests.benchmarks.server import running

    if options.url:
        return _measure(options.url, options)
    with tempfile.TemporaryDirectory() as folder, running(options.server, False, Path(folder)) as server:
        return _measure(server.url, options)


def _measure(url: str, options: argparse.Namespace) -> int:
    os.environ |= {"DJANGO_SETTINGS_MODULE": "tests.settings", "QUEUEOPS_TESTS_URL": url}
    import django

    django.setup()
    from django.core.management import call_command

    from queueops.redis.broker import get_broker
    from tests.benchmarks.large_store import LargeStore

    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    broker, tables = get_broker(), {}
    large, store = LargeStore(broker), Store(broker.client)
    for tasks in sorted(options.tasks):
        if not options.url:
            begun = perf_counter()
            large.grow(tasks)
            if not tables:
                add_history(broker)
            used = broker.client.info("memory")["used_memory"] / 2**20
            print(f"\n{tasks:,} tasks, {used:,.0f} MB, in {perf_counter() - begun:.0f} s", flush=True)
        tables[tasks] = table(store, options.runs, options.only)
    grown = growth(tables)
    print("", *grown, sep="\n", flush=True)
    return int(bool(grown))


if __name__ == "__main__":
    sys.exit(main())
