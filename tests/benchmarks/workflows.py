"""Measurement of workflows: `python -m tests.benchmarks.workflows [--json FILE]`, one worker process, its own store.

The server is the embedded one. Times are medians; the machine should have nothing else to do.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import django

Figures = dict[str, float]
ROUNDS = 15
PAUSE = 0.2
"""Seconds without work before a run. A virtual machine may lose its processor and its caches meanwhile."""


def main() -> int:
    """Measure in a folder and on a store of its own."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.workflows", description=__doc__)
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE")
    parser.add_argument("--count", type=int, default=5_000, help="runs in the backlog (%(default)s)")
    parser.add_argument("--sleeping", type=int, default=20_000, help="sleeping runs (%(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="queueops-workflows-") as folder:
        store = Path(folder) / "store"
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "tests.faults.settings",
            "QUEUEOPS_TESTS_DATA": folder,
            "QUEUEOPS_TESTS_URL": f"embedded:{store}",
            "QUEUEOPS_TESTS_LEDGER": str(Path(folder) / "ledger"),
            "QUEUEOPS_TESTS_TASK_LEVEL": "WARNING",  # no line for a task, as measurements of the peers have none
        }
        django.setup()
        figures = _measure(Path(folder), store, options)
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=1))
    return 0


def _measure(folder: Path, store: Path, options: argparse.Namespace) -> Figures:
    from queueops.redis import embedded
    from queueops.redis.broker import close_brokers
    from tests.faults.processes import Ledger, Worker

    embedded.start(store)
    figures: Figures = {}

    def note(name: str, value: float) -> None:
        figures[name] = round(value, 2)
        print(f"{name:40} {value:12,.2f}", flush=True)

    try:
        arguments = ("--processes", "1", "--threads", "8")
        handles = _backlog(options.count)
        worker = Worker(folder / "worker.log", {"URL": f"embedded:{store}"}, Ledger(folder / "ledger"), *arguments)
        try:
            for name, value in _drained(handles, worker).items():
                note(name, value)
            for name, measure in _alone().items():
                note(name, measure())
            for name, value in _sleeping(options.sleeping, worker).items():
                note(name, value)
        finally:
            worker.end()
        note("replay of 10,000 entries, ms", _replay())
    finally:
        close_brokers()  # its subscription would start the server again
        embedded.stop(store)
    return figures


def _backlog(count: int) -> list[Any]:
    from tests.soak import measured

    return measured.one.push_many([()] * count)


def _drained(handles: list[Any], worker: Any) -> Figures:
    """Runs a second, from the first step on, so that the start of the worker does not count; and what a run costs."""
    import psutil

    from queueops.redis.broker import get_broker

    client = get_broker().client
    while handles[0].state == "pending":
        time.sleep(0.001)
    (child,) = worker.children()
    process = psutil.Process(child)

    def spent() -> tuple[float, float, float]:
        told = client.info("cpu")
        return time.perf_counter(), sum(process.cpu_times()[:2]), told["used_cpu_user"] + told["used_cpu_sys"]

    before = spent()
    while any(handle.state != "succeeded" for handle in (handles[-1], handles[0])):
        time.sleep(0.05)
    took, cpu, store = (now - then for now, then in zip(spent(), before, strict=True))
    return {
        "one activity, of a backlog, runs/s": len(handles) / took,
        "CPU of the worker, us/run": 1e6 * cpu / len(handles),
        "CPU of the store, us/run": 1e6 * store / len(handles),
    }


def _alone() -> dict[str, Callable[[], float]]:
    """What one run takes on a worker that has nothing else to do, in milliseconds."""
    from tests.soak import measured

    def of(begin: Callable[[], Any], pause: float = PAUSE, rounds: int = ROUNDS) -> Callable[[], float]:
        return lambda: _after_a_pause(lambda: begin().result(timeout=60), pause, rounds)

    return {
        "one activity, idle for 10 ms, ms": of(measured.one.start, 0.01, 100),
        "one activity, idle for 200 ms, ms": of(measured.one.start),
        "10 activities in sequence, ms": of(lambda: measured.in_sequence.start(10)),
        "1,000 activities at once, ms": of(lambda: measured.at_once.start(1_000), rounds=5),
        "signal to code, p50 ms": _signals,
        "a timer is late by, p50 ms": _lateness,
        "a loop in Python, after 10 ms, ms": lambda: _after_a_pause(_count, 0.01, 100),
        "the same after 200 ms, ms": lambda: _after_a_pause(_count),
    }


def _after_a_pause(call: Callable[[], object], pause: float = PAUSE, rounds: int = ROUNDS) -> float:
    """How long a call takes, in milliseconds, each time after this many seconds without work."""
    spent = []
    for _ in range(rounds):
        time.sleep(pause)
        began = time.perf_counter()
        call()
        spent.append(1000 * (time.perf_counter() - began))
    return median(spent)


def _count() -> int:
    """Some work of the processor alone: it shows how much slower this machine is after a pause."""
    return len({str(number): number for number in range(3_000)})


def _signals() -> float:
    """From before a signal is sent until the code has it, by the clock of the machine."""
    from tests.soak import measured

    run = measured.echo.start(ROUNDS * 4)
    while run.state != "idle":
        time.sleep(0.01)
    spent = []
    for number in range(ROUNDS * 4):
        time.sleep(0.05)
        began = time.monotonic_ns()
        run.signal("ping", number)
        while (status := run.custom_status() or [None, 0])[0] != number:
            time.sleep(0.001)
        spent.append((status[1] - began) / 1e6)
    return median(spent)


def _lateness() -> float:
    """From the moment of a timer until the step that it begins."""
    from tests.soak import measured

    run = measured.naps.start(ROUNDS * 2)
    run.result(timeout=60)
    late, due = [], 0
    for entry in run.history():
        if entry.kind == "timer":
            due = entry.at_ms
        elif entry.kind == "step" and due:
            late.append(float(entry.at_ms - due))
    return median(late)


def _sleeping(count: int, worker: Any) -> Figures:
    """The bytes of a sleeping run in the store, and in the memory of the worker."""
    import psutil

    from queueops.redis.broker import get_broker
    from tests.soak import measured

    client, (child,) = get_broker().client, worker.children()
    before, resident = client.info("memory")["used_memory"], psutil.Process(child).memory_info().rss
    handles = measured.sleeps.push_many([()] * count)
    while handles[-1].state != "idle" or handles[0].state != "idle":
        time.sleep(0.1)
    time.sleep(1)
    after, grown = client.info("memory")["used_memory"], psutil.Process(child).memory_info().rss
    return {
        "a sleeping run in the store, bytes": (after - before) / count,
        "a sleeping run in the worker, bytes": (grown - resident) / count,
    }


def _replay() -> float:
    """The history of one run with 10,000 entries, in memory."""
    from queueops.kinds.workflows import events
    from queueops.kinds.workflows.events import Entry
    from queueops.kinds.workflows.replay.step import RunInfo
    from tests.soak import measured

    info = RunInfo(id="r", name="measured.in_sequence", instance="r")
    arguments = measured.in_sequence.as_child((10_000,), {})[0].args
    handler: Any = measured.in_sequence.handler  # that of a workflow, and not of a function
    execution = handler.execution(info, arguments)
    history: list[bytes] = []
    taken: list[Entry] = []
    while len(history) < 10_000:
        step = execution.advance(1_000 + len(history), taken)
        history += [events.encode(each) for each in (Entry(events.STEP, at_ms=step.at), *taken, *step.commands)]
        taken = [Entry("done", command=step.commands[-1].command, payload=events.raw(b"1"))]
    spent = []
    for _ in range(5):
        again = handler.execution(info, arguments)
        began = time.perf_counter()
        again.replay(history)
        spent.append(1000 * (time.perf_counter() - began))
        again.dispose()
    return median(spent)


if __name__ == "__main__":
    sys.exit(main())
