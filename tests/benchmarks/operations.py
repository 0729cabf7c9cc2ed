"""Bulk actions: `python -m tests.benchmarks.operations [TASKS]` measures an operation, and other work beside it.

A server of its own gets the tasks, 200,000 by default. A worker process performs the operation: all are cancelled.
This process pushes a task each 20 ms, before and during the operation, and takes the time from the push to its start.
Printed are the percentiles of that time, the tasks per second, and what a part of the operation costs the store. That
is the time of the call within the server, without the wait for it; it hardly changes on a busy machine.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Any

TASKS, QUIET_S, PACE_S = 200_000, 10.0, 0.02
SETTINGS = "tests.faults.settings"
LOGGED = 20_000
"""Slow calls that the server remembers."""


def probe() -> float:
    """Milliseconds from the push of a task to its start: the clock is that of the machine."""
    from tests.faults.tasks import started_at

    begun = monotonic()
    return (started_at.push().result(timeout=30) - begun) * 1000


def probes(goes_on: Callable[[], bool]) -> list[float]:
    """Measure as long as that is true."""
    found: list[float] = []
    while goes_on():
        begun = monotonic()
        found.append(probe())
        sleep(max(0.0, PACE_S - (monotonic() - begun)))
    return found


def shown(label: str, found: Sequence[float]) -> str:
    """The percentiles of a measurement."""
    ordered = sorted(found)
    at = [ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.95, 0.99)]
    return f"{label:24} p50 {at[0]:6.2f}  p95 {at[1]:6.2f}  p99 {at[2]:6.2f} ms ({len(ordered):,})"


def parts(client: Any) -> list[float]:
    """Milliseconds of the calls that performed the latest parts, as the server took them."""
    found = client.slowlog_get(LOGGED)
    return [entry["duration"] / 1000 for entry in found if re.match(rb"FCALL \S*operate_?[0-9a-f]* ", entry["command"])]


def measure(count: int) -> None:
    """Fill the store, measure without and with the operation."""
    from queueops import control, inspect
    from queueops.inspect import TaskQuery
    from queueops.model.contracts import Push
    from queueops.redis.broker import get_broker

    broker = get_broker()
    for start in range(0, count, 500):
        broker.push([Push(id=f"t{number}", name="app.noop", lane="bulk") for number in range(start, start + 500)])
    probe()
    begun = monotonic()
    print(shown("push to start, alone", probes(lambda: monotonic() - begun < QUIET_S)), flush=True)
    broker.client.config_set("slowlog-max-len", LOGGED)
    broker.client.config_set("slowlog-log-slower-than", 100)
    broker.client.slowlog_reset()
    ((pool, id),) = control.begin_operation("cancel", TaskQuery(state="pending", lane="bulk"))
    print(shown("push to start, beside it", probes(lambda: not inspect.operations(pool)[0].has_ended)), flush=True)
    found = inspect.operation(id, pool)
    assert found is not None
    assert found.changed == count, found
    seconds = ((found.ended_ms or 0) - (found.began_ms or 0)) / 1000
    print(f"{found.changed:,} tasks in {seconds:.1f} s: {found.changed / seconds:,.0f} tasks/s")
    print(shown("one part, in the store", parts(broker.client)))


def main() -> None:
    """Start a server and a worker."""
    from tests.benchmarks.server import running

    with tempfile.TemporaryDirectory() as folder, running("valkey", True, Path(folder)) as server:
        os.environ |= {"DJANGO_SETTINGS_MODULE": SETTINGS, "QUEUEOPS_TESTS_URL": server.url}
        import django

        django.setup()
        from queueops import control

        control.pause_lane("default", "bulk", new=True)
        command = [sys.executable, "manage.py", "runworker", "--processes", "1", "--threads", "4"]
        log = (Path(folder) / "worker.log").open("w")
        with log, subprocess.Popen(command, stdout=log, stderr=log) as worker:
            try:
                measure(int(sys.argv[1]) if sys.argv[1:] else TASKS)
            finally:
                worker.terminate()


if __name__ == "__main__":
    main()
