"""Jobs: `python -m tests.benchmarks.job_rates [downloads] [callbacks] [aggregations] [--jobs N] [--folder DIR]`.

Downloads of 1 KB and callbacks, by one worker process of 64 slots from a local server. Then claims and pages of jobs in
10 and in 10,000 aggregations. It prints the rate, and the processor time of each job: on a busy machine only the latter
can be compared. The file system of the folder counts: ext4 without a journal looks at each inode that was deleted in
the last minutes, such as those of the run before.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import psutil

SETTINGS = "tests.faults.settings"
SLOTS, HOSTS, BATCH = 64, 1, 1000
LOCAL = {"JOBS": {"PRIVATE_NETWORKS": ["127.0.0.0/8"], "PORTS": None}}


def main() -> int:
    """Measure what is asked for, all by default; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.job_rates", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *MEASURES], default=[])
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--folder", help="where the store and the files are for the time of the run")
    options = parser.parse_args()
    from tests.benchmarks.server import running

    for name in options.names or MEASURES:
        folders = tempfile.TemporaryDirectory(prefix="queueops-jobs-", dir=options.folder)
        with folders as folder, running("valkey", True, Path(folder)) as server:
            environment = {"DJANGO_SETTINGS_MODULE": SETTINGS, "QUEUEOPS_TESTS_URL": server.url}
            environment |= {"QUEUEOPS_TESTS_SETTINGS": json.dumps(LOCAL), "TMPDIR": folder}
            words = [name, str(options.jobs), str(server.info("server")["process_id"])]
            command = [sys.executable, "-m", "tests.benchmarks.job_rates", "--", *words]
            subprocess.run(command, env=os.environ | environment, check=True)
    return 0


def downloads(count: int, store: int) -> None:
    """Downloads of 1 KB, in one aggregation for each address of the server."""
    from queueops import jobs
    from tests.benchmarks.file_server import serving

    with serving(HOSTS) as hosts:
        for start in range(0, count, BATCH):
            jobs.submit_many(
                {"aggregation": f"shop {number % HOSTS}", "limit": SLOTS, "url": f"{hosts[number % HOSTS]}/{number}"}
                for number in range(start, min(count, start + BATCH))
            )
        _run("downloads", "job", count, store)


def callbacks(count: int, store: int) -> None:
    """Callbacks without jobs, to each address of the server."""
    from queueops import conf
    from queueops.kinds.jobs.aggregations.lane_settings import first_settings
    from queueops.kinds.jobs.callbacks.callback_plans import CALLBACK, read_targets
    from queueops.kinds.jobs.settings import of_jobs
    from queueops.kinds.jobs.store import JobCalls, NewJob
    from queueops.model.contracts import Push
    from queueops.model.ids import new_id
    from queueops.redis.broker import get_role
    from queueops.tasks.encoding import encode_arguments
    from queueops.tasks.options import Options
    from tests.benchmarks.file_server import serving

    def made(number: int, url: str) -> NewJob:
        (lane,) = read_targets({"callback_url": url}).lanes("default")
        lane = lane._replace(settings=first_settings(limit=SLOTS, rate=None, idle=3600))
        content = {"to": url, "success": True, "job": f"job-{number}", "url": "http://a.example/", "extra": ""}
        options = Options(retries=0, retry=of_jobs().callback_retry.policy())
        fields = options.push_fields(conf.current()) | {"lane": lane.lane}
        args = encode_arguments(CALLBACK, ({"size": 1024},), content)
        return NewJob(Push(id=new_id(), kind=CALLBACK, name=CALLBACK, args=args, **fields), (lane,))

    with serving(HOSTS) as hosts:
        for start in range(0, count, BATCH):
            numbers = range(start, min(count, start + BATCH))
            get_role(JobCalls).submit_jobs("default", [made(each, f"{hosts[each % HOSTS]}/done") for each in numbers])
        _run("callbacks", "callback", count, store)


def aggregations(count: int, store: int) -> None:
    """Claims of 64, and the first page of aggregations, with few and with many of them."""
    from queueops import inspect, jobs
    from queueops.redis.broker import get_broker
    from tests.kernel.desk import Desk

    desk = Desk(get_broker())
    for several in (10, 10_000):
        desk.client.flushdb()
        for start in range(0, max(count, several), BATCH):
            jobs.submit_many(
                {"aggregation": f"shop {number % several}", "handler": "work", "limit": SLOTS}
                for number in range(start, start + BATCH)
            )
        page = _milliseconds(20, lambda: inspect.aggregations())
        before = _cpu(store)
        claim = _milliseconds(100, lambda: [desk.settle(lease) for lease in desk.claim(SLOTS)])
        used = (_cpu(store) - before) / 100 / SLOTS * 1e6
        print(f"{several:,} aggregations: page {page:.1f} ms; 64 claims and ends {claim:.1f} ms, "
              f"{used:,.0f} us of the store each", flush=True)  # fmt: skip


def _milliseconds(times: int, call: Callable[[], object]) -> float:
    took = []
    for _ in range(times):
        begun = time.perf_counter()
        call()
        took.append((time.perf_counter() - begun) * 1000)
    return median(took)


def _run(title: str, kind: str, count: int, store: int) -> None:
    """Run a worker until nearly all have ended. The first tenth warms up."""
    from queueops import inspect
    from queueops.inspect import TaskQuery

    def ended() -> int:
        return dict(inspect.facets(TaskQuery(kind=kind))["state"]).get("succeeded") or 0

    with _worker() as worker:
        _reach(ended, count // 10)
        process = _child(worker)
        first, begun, before = ended(), time.monotonic(), [_cpu(process), _cpu(store)]
        _reach(ended, count * 95 // 100)
        done, took = ended() - first, time.monotonic() - begun
        costs = [(now - was) / done * 1e6 for now, was in zip((_cpu(process), _cpu(store)), before, strict=True)]
    rate = f"{done / took:,.0f}/s"
    print(f"{title}: {rate}; each costs {costs[0]:,.0f} us of the worker, {costs[1]:,.0f} us of the store", flush=True)


@contextmanager
def _worker() -> Iterator[int]:
    command = [sys.executable, "manage.py", "runworker", "--processes", "1", "--threads", str(SLOTS), "--noreload"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as worker:
        try:
            yield worker.pid
        finally:
            worker.terminate()


def _child(pid: int) -> int:
    """The process that runs the tasks of a supervisor."""
    return max(psutil.Process(pid).children(), key=lambda each: sum(each.cpu_times()[:2])).pid


def _reach(ended: Callable[[], int], wanted: int) -> None:
    while ended() < wanted:
        time.sleep(0.2)


def _cpu(pid: int) -> float:
    return sum(psutil.Process(pid).cpu_times()[:2])


MEASURES: dict[str, Callable[[int, int], None]] = {
    "downloads": downloads,
    "callbacks": callbacks,
    "aggregations": aggregations,
}


def _measure(words: Sequence[str]) -> None:
    import django

    django.setup()
    name, jobs, store = words
    MEASURES[name](int(jobs), int(store))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--"]:
        _measure(sys.argv[2:])
    else:
        sys.exit(main())
