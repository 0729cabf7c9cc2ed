"""Workflows of one worker process: a backlog, single runs on an idle worker, signals, sleeping runs, and a replay."""

import json
import subprocess
import sys

from tests.benchmarks import install
from tests.benchmarks.benchmark import Benchmark, Figures
from tests.benchmarks.stage import RunFailed, Stage, gist
from tests.benchmarks.systems import DBOS, OURS, PROGRAMS

BACKLOG = 5_000
BACKLOG_OF_PEERS = 500
SLEEPING = 20_000
LONGEST_S = 600


def measure(stage: Stage) -> Figures:
    """The figures that the program of a system writes, each on a store of its own."""
    figures = stage.folder / "figures.json"
    if stage.system is OURS:
        counts = ("--count", str(min(BACKLOG, stage.count)), "--sleeping", str(min(SLEEPING, stage.count)))
        command = [sys.executable, "-m", "tests.benchmarks.workflows", "--json", str(figures), *counts]
    else:
        store, count = str(stage.folder / "dbos.sqlite"), str(min(BACKLOG_OF_PEERS, stage.count))
        command = [install.python(), str(PROGRAMS / "dbos_app.py"), store, count]
    done = subprocess.run(command, cwd=install.ROOT, capture_output=True, text=True, timeout=LONGEST_S)
    if done.returncode:
        raise RunFailed(f"{stage.system.name}: {gist(done.stderr)}")
    found: Figures = json.loads(figures.read_text() if stage.system is OURS else done.stdout.splitlines()[-1])
    return found


WORKFLOWS = Benchmark(
    name="workflows",
    title="Workflows of one worker process, embedded server; DBOS on SQLite",
    target="one activity: 2,000/s, 4 ms idle; 10 in sequence 25 ms, 1,000 at once 400 ms; signal 2 ms; replay 300 ms",
    measure=measure,
    systems=(OURS, DBOS),
    rounds=1,
)
