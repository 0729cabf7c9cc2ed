"""Soak of workflows: `python -m tests.soak.sagas --runs 500`: workers and the store are killed under running sagas.

The exit status is 0 when each run has its result, each of its commands ended once, each replay is the same, and the
consistency check finds nothing.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django

if TYPE_CHECKING:
    from tests.faults.processes import Worker

PROCESSES = 2
STORE = {"appendfsync": "no"}
"""The server hands each write to the system before it answers: a kill -9 of the server loses nothing."""
STORE_KILLS = (4, 12)
"""After so many kills of workers the store is killed, too."""
SETTINGS = {"LEASE": 1.0, "GRACE": 3.0, "MAX_CRASHES": 1_000_000}


def main() -> int:
    """Run it in a folder and on a store of its own."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak.sagas", description=__doc__)
    parser.add_argument("--runs", type=int, default=500, help="sagas (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the faults (%(default)s)")
    parser.add_argument("--every", type=float, default=0.5, help="seconds between two kills (%(default)s)")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds until it gives up (%(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="queueops-sagas-") as folder:
        store = Path(folder) / "store"
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "tests.faults.settings",
            "QUEUEOPS_TESTS_DATA": folder,
            "QUEUEOPS_TESTS_URL": f"embedded:{store}",
            "QUEUEOPS_TESTS_LEDGER": str(Path(folder) / "ledger"),
        }
        django.setup()
        return _soak(Path(folder), store, options)


def _soak(folder: Path, store: Path, options: argparse.Namespace) -> int:
    from queueops.redis import embedded
    from tests.faults import sagas
    from tests.faults.processes import Ledger, Worker

    embedded.start(store, options=STORE)
    workers: list[Worker] = []
    try:
        settings = SETTINGS | {"URL": f"embedded:{store}"}
        ledger = Ledger(folder / "ledger")
        arguments = ("--processes", str(PROCESSES), "--threads", "4")
        workers.append(Worker(folder / "worker.log", settings, ledger, *arguments))
        begun = time.monotonic()
        runs = {number: sagas.saga.start(number, 0.01) for number in range(options.runs)}
        faults = _harm(workers[0], store, runs, options)
        wrong = _judge(runs)
        starts = len(ledger.lines("start"))
    finally:
        for worker in workers:
            worker.end()
        embedded.stop(store)
    took = time.monotonic() - begun
    print(f"{len(runs)} sagas in {took:.0f} s; faults: {dict(faults)}; activities were started {starts} times")
    print("\n".join(wrong[:50]) or "Each saga has its result, each command ended once, each replay is the same.")
    return int(bool(wrong))


def _harm(worker: Worker, store: Path, runs: dict[int, Any], options: argparse.Namespace) -> Counter[str]:
    """Kill processes of the worker at random moments, and the store twice."""
    from queueops.errors import QueueOpsError
    from queueops.redis import embedded

    chance, faults, end = random.Random(options.seed), Counter[str](), time.monotonic() + options.limit
    waiting = list(runs.values())
    while waiting and time.monotonic() < end:
        time.sleep(chance.expovariate(1 / options.every))
        if children := worker.children():
            os.kill(chance.choice(children), signal.SIGKILL)
            faults["worker killed"] += 1
        if faults["worker killed"] in STORE_KILLS and faults["store killed"] < len(STORE_KILLS):
            os.kill(embedded.status(store).pid, signal.SIGKILL)
            faults["store killed"] += 1
            time.sleep(0.5)
            embedded.start(store, options=STORE)
        try:
            while waiting and waiting[-1].state in ("succeeded", "failed"):
                waiting.pop()
        except QueueOpsError:
            faults["a question without an answer"] += 1
    return faults


def _judge(runs: dict[int, Any]) -> list[str]:
    """What is wrong, a line each."""
    from queueops.errors import QueueOpsError
    from queueops.kinds.workflows.code_check.replay_check import replays
    from queueops.redis.broker import get_broker

    wrong = []
    for number, run in runs.items():
        try:
            if (result := run.result(timeout=0)) != 6 * number:
                wrong.append(f"{run.id}: its result is {result}")
        except QueueOpsError as error:
            wrong.append(f"{run.id}: {error}")
        ends = Counter(entry.command for entry in run.history() if entry.kind in ("done", "failed", "fired"))
        if set(ends.values()) != {1} or len(ends) != 7:
            wrong.append(f"{run.id}: its commands ended so often: {dict(ends)}")
    checked = list(replays(ended=True, most=len(runs)))
    wrong += [replay.told() for replay in checked if replay.reason]
    if len(checked) != len(runs):
        wrong.append(f"{len(checked)} of {len(runs)} histories were replayed")
    after = ""
    while True:
        page = get_broker().check("default", after)
        wrong += [f"fsck: {fault.id}: {fault.text}" for fault in page.faults]
        if not (after := page.next):
            return wrong


if __name__ == "__main__":
    sys.exit(main())
