"""`python -m tests.soak.jobs`: many jobs and callbacks over HTTP, while a worker is killed each second.

With `--over-http` clients hand the jobs in at a gunicorn, and send each request twice. The target is flaky: it refuses
the first attempts of each third callback, and half of the requests for some files.
Exit status 0 when each job has ended, each was told by one callback, and no limit was exceeded; else 1.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django

if TYPE_CHECKING:
    from tests.faults.processes import Worker
    from tests.jobs.world import World

LEASE = 5.0
LIMIT = 4
DRAIN_SECONDS = 900.0


def main() -> int:
    """Run it in a folder and on a store of its own."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="queueops-soak-") as name:
        folder = Path(name)
        settings = {
            "LEASE": LEASE,
            "MAX_CRASHES": 1_000_000,
            "JOBS": {
                "PRIVATE_NETWORKS": ["127.0.0.0/8"],
                "PORTS": None,
                "PARTIAL_DIRECTORY": str(folder / "partial"),
                "CIRCUIT_FAILURES": 0,  # the flaky target is one host: its circuit would be open most of the time
            },
        }
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "tests.faults.settings",
            "QUEUEOPS_TESTS_DATA": name,
            "QUEUEOPS_API": "1",
            "QUEUEOPS_TESTS_URL": f"embedded:{folder / 'store'}",
            "QUEUEOPS_TESTS_LEDGER": str(folder / "ledger"),
            "QUEUEOPS_TESTS_SETTINGS": json.dumps(settings),
        }
        django.setup()
        from queueops.redis import embedded
        from tests.soak.faults import STORE

        embedded.start(folder / "store", options=STORE)
        try:
            return _soak(folder, settings, options)
        finally:
            embedded.stop(folder / "store")


def _soak(folder: Path, settings: dict[str, Any], options: argparse.Namespace) -> int:
    from tests.jobs.world import World

    with World(seconds=0.005, refusals=2).serve() as world:
        workers = Workers(folder, settings, options.workers)
        try:
            begun = time.monotonic()
            ids = _submit(world, folder, options)
            submitted = time.monotonic() - begun
            kills = workers.kill_each_second(options.kills)
            _until_drained(len(ids))
            ended = time.monotonic() - begun
        finally:
            workers.end()
        found = list(_problems(world, ids))
        gets = Counter(asked.path for asked in world.server.asked if asked.method == "GET")
        report = {
            "jobs": len(ids),
            "handed in": "over HTTP" if options.over_http else "in process",
            "kills": kills,
            "seconds to submit": round(submitted, 1),
            "seconds in all": round(ended, 1),
            "downloads started": gets.total(),
            "attempts of callbacks": sum(map(len, world.attempts().values())),
            "problems": len(found),
        }
    print(json.dumps(report, indent=1), *found[:50], sep="\n", flush=True)
    return int(bool(found))


class Workers:
    """Worker processes, each replaced when it was killed."""

    def __init__(self, folder: Path, settings: dict[str, Any], count: int) -> None:
        self._folder, self._settings, self._started = folder, settings, 0
        self._workers = [self._start() for _ in range(count)]

    def kill_each_second(self, times: int) -> int:
        """Kill one after the other without a word, supervisor and process, and start a new one."""
        for number in range(times):
            time.sleep(1)
            victim = number % len(self._workers)
            self._workers[victim].signal_all(signal.SIGKILL)
            self._workers[victim].end()
            self._workers[victim] = self._start()
        return times

    def end(self) -> None:
        """End all by their ids."""
        for worker in self._workers:
            worker.end()

    def _start(self) -> Worker:
        from tests.faults.processes import Ledger, Worker

        self._started += 1
        log = self._folder / f"{self._started:03d}.log"
        return Worker(log, self._settings, Ledger(self._folder / "ledger"), "--threads", "16")


def _submit(world: World, folder: Path, options: argparse.Namespace) -> list[str]:
    """Hand in all jobs, the aggregations in turn; their ids."""
    from queueops import jobs
    from tests.soak.job_clients import hand_in, serving_api

    given = (
        world.job(
            f"shop{number % options.aggregations}",
            path="/unsure" if number % 7 == 0 else "/file",
            told="/flaky" if number % 3 == 0 else "/told",
            limit=LIMIT,
            retries=30,
        )
        for number in range(options.jobs)
    )
    if not options.over_http:
        return [handle.id for handle in jobs.submit_many(given)]
    with serving_api(folder / "web") as (port, token):
        return hand_in(port, token, given)


def _until_drained(count: int) -> None:
    from tests.jobs.world import count_callbacks, end_back_off
    from tests.support.waiting import wait_until

    def is_over() -> bool:
        end_back_off()
        return sum(count_callbacks()[state] for state in ("succeeded", "failed", "cancelled")) >= count

    wait_until(is_over, DRAIN_SECONDS, every=0.2)


def _problems(world: World, handed_in: list[str]) -> Iterator[str]:
    from queueops import inspect
    from tests.jobs.world import count_callbacks, count_jobs

    ids = set(handed_in)
    if len(ids) != len(handed_in):
        yield f"{len(handed_in)} jobs were handed in, and have {len(ids)} ids"
    if count_jobs() != {"succeeded": len(ids)}:
        yield f"jobs by state: {dict(count_jobs())}"
    if count_callbacks() != {"succeeded": len(ids)}:
        yield f"callbacks by state: {dict(count_callbacks())}"
    attempts = world.attempts()
    told = Counter(json.loads(asked[0].body)["job_id"] for asked in attempts.values())
    yield from (f"never told: {id}" for id in ids - set(told))
    yield from (f"told by {count} callbacks: {id}" for id, count in told.items() if count != 1)
    for id, each in attempts.items():
        if len({(asked.body, asked.headers["idempotency-key"]) for asked in each}) != 1:
            yield f"attempts of one callback differ: {id}"
    yield from (f"sent twice at a time: {id}" for id, most in world.deliveries.most.items() if most > 1)
    yield from (f"{most} downloads at once: {id}" for id, most in world.downloads.most.items() if most > LIMIT)
    after = ""
    while True:
        page = inspect.fsck("default", after) if after else inspect.fsck("default")
        yield from (f"fsck: {fault.pool} {fault.id}: {fault.text}" for fault in page.faults)
        if not (after := page.next):
            return


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.soak.jobs", description=__doc__)
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--aggregations", type=int, default=200)
    parser.add_argument("--workers", type=int, default=4, help="each of one process with 16 threads")
    parser.add_argument("--kills", type=int, default=20, help="one each second")
    parser.add_argument("--over-http", action="store_true", help="clients of the API hand the jobs in")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
