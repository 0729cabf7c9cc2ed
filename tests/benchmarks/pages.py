"""Pages: `python -m tests.benchmarks.pages [--tasks N] [--runs N]` measures each page of the console on a full store.

A server of its own gets the tasks, 1,000,000 by default, and 13 months of history. A watchdog samples each second.
Printed are the medians of time and of round trips of each page. "CPU" is the time of the thread alone, which a
busy machine makes hardly longer. The status is 1 if a page is over its budget.
Each answer is read anew. Only the status head is shared, as between all pages that are open.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from statistics import median
from threading import Event, Thread
from time import perf_counter, thread_time, time
from typing import Any

TASKS, RUNS = 1_000_000, 9
MOST_TRIPS = 5
NAME, LANE = "shop.task_1", "lanes/default/lane_1/"
LISTS = ("tasks/", "errors/", "lanes/", "workers/", "registry/", "schedules/", "commands/", "audit/")
LIST_MS = 100
OTHER_MS = 50
PAGES = (
    *("", "?range=1h", "?range=14d", "?at={yesterday}", "_overview", "_status", "_history?range=24h"),
    *("tasks/", "tasks/_rows", "tasks/?state=failed", "tasks/?state=pending", f"tasks/?name={NAME}"),
    *(
        "tasks/?tag=customer-3",
        "tasks/?lane=lane_1",
        "tasks/failed-8/",
        "tasks/pending-7/why/",
        "tasks/failed-8/attempts/",
    ),
    *(
        "errors/",
        "errors/seed00000001/",
        "lanes/",
        LANE,
        f"{LANE}?at={{yesterday}}",
        "workers/",
        "workers/w1/",
        "pools/default/",
    ),
    *("errors/seed00000001/?range=14d", "errors/seed00000001/?at={yesterday}", "workers/w1/?at={yesterday}"),
    *("registry/", f"registry/{NAME}/", f"registry/{NAME}/?at={{yesterday}}", "find/?q=failed-8", "find/?q=task_1"),
    *("schedules/", "commands/", "audit/", "settings/"),
)


def prepare(tasks: int) -> None:
    """Fill the store."""
    from queueops.redis.broker import get_broker
    from tests.support import seed_history, seed_tasks

    broker, begun = get_broker(), perf_counter()
    made = seed_tasks.seed(broker, "default", tasks)
    seed_history.seed(broker, "default", round(time() * 1000), names=50, lanes=40, errors=10, workers=4)
    facts = {"host": "web1", "pid": 4711, "started": round(time() * 1000), "slots": 8, "busy": 2, "version": "1"}
    broker.beat("default", "w1", facts | {"names": NAME, "state": "live", "pools": "default"})
    used = broker.client.info("memory")["used_memory"] / 2**20
    print(
        f"{made.total():,} tasks and 13 months of history, {used:,.0f} MB, in {perf_counter() - begun:.0f} s",
        flush=True,
    )


def measure(client: Any, page: str, runs: int) -> tuple[float, float, int, int]:
    """Median milliseconds, those of the processor, and round trips of a page, and the size of its answer."""
    from tests.support.monitoring import counted_trips

    took, used, trips, size = [], [], [], 0
    for _ in range(runs + 1):
        begun, began = perf_counter(), thread_time()
        with counted_trips() as counted:
            answer = client.get(f"/ops/{page}")
        took.append((perf_counter() - begun) * 1000)
        used.append((thread_time() - began) * 1000)
        trips.append(counted.made)
        assert answer.status_code in (200, 204, 302), (page, answer.status_code)
        size = len(answer.content)
    return (
        median(took[1:]),
        median(used[1:]),
        round(median(trips[1:])),
        size,
    )  # the first one loads templates and functions


def table(runs: int) -> bool:
    """Print a row for each page; whether all are within their budgets."""
    from datetime import UTC, datetime, timedelta

    from django.contrib.auth.models import User
    from django.test import Client

    from console.pages import history, tasks
    from console.ui import render

    history.READING_AGE_S = tasks.READING_AGE_S = 0.0
    render.STATUS_AGE_S = 600.0
    client = Client()
    client.force_login(User.objects.get_or_create(username="pages", is_superuser=True)[0])
    yesterday = f"{datetime.now(UTC) - timedelta(days=1):%Y-%m-%dT%H:%MZ}"
    print("| page | ms | CPU | budget | round trips | kB |\n|---|---|---|---|---|---|")
    is_well = True
    for page in PAGES:
        ms, cpu, trips, size = measure(client, page.format(yesterday=yesterday), runs)
        budget = LIST_MS if page in LISTS or page.startswith(("tasks/?", "tasks/_rows")) else OTHER_MS
        over = [word for word, is_over in (("**slow**", ms > budget), ("**chatty**", trips > MOST_TRIPS)) if is_over]
        print(
            f"| `/{page}` | {ms:.0f} | {cpu:.0f} | {budget} | {trips} | {size / 1000:.0f} {' '.join(over)} |",
            flush=True,
        )
        is_well = is_well and not over
    return is_well


def main() -> int:
    """Start a server, fill it, measure."""
    from tests.benchmarks.server import running

    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.pages", description=__doc__)
    parser.add_argument("--tasks", type=int, default=TASKS)
    parser.add_argument("--runs", type=int, default=RUNS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running("valkey", False, Path(folder)) as server:
        os.environ |= {"DJANGO_SETTINGS_MODULE": "tests.settings", "QUEUEOPS_TESTS_URL": server.url}
        import django

        django.setup()
        from django.core.management import call_command

        from queueops.redis.broker import get_broker

        call_command("migrate", verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        prepare(options.tasks)
        ended = Event()
        with closing(get_broker()) as broker:
            sampler = Thread(target=_sample, args=(broker, ended))
            sampler.start()
            try:
                return 0 if table(options.runs) else 1
            finally:
                ended.set()
                sampler.join()


def _sample(broker: Any, ended: Event) -> None:
    """A watchdog's figures, each second, and a worker's heartbeat."""
    while not ended.wait(1.0):
        broker.draw("default", "pages", 900)
        broker.beat("default", "w1", {"state": "live"})


if __name__ == "__main__":
    sys.exit(main())
