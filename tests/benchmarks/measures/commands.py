"""What it costs that a chain goes through two pools, and how long a command waits behind those whose target is gone."""

import json
import subprocess
import sys
from dataclasses import replace
from statistics import median

from tests.benchmarks.benchmark import Benchmark, Figures
from tests.benchmarks.stage import RunFailed, Stage, gist
from tests.benchmarks.systems import OURS, PROGRAMS, Command

SECONDS = 120


def measure(stage: Stage) -> Figures:
    """Milliseconds of ten no-ops in a chain: in its pool, in two, in two others; what a backlog adds to two of them."""
    with stage.workers():
        told = _run(stage)
    short = median(told["short"])
    return {
        "10 steps, one pool ms": median(told["one"]),
        "10 steps, two pools ms": median(told["two"]),
        "10 steps, two others ms": median(told["others"]),
        "2 steps, two pools ms": short,
        "delay behind 10,000 p50 ms": median(told["behind"]) - short,
        "longest ms": max(told["behind"]) - short,
    }


def _run(stage: Stage) -> dict[str, list[float]]:
    command = [sys.executable, str(PROGRAMS / "commands.py"), str(stage.count)]
    done = subprocess.run(
        command, env=stage.environment, cwd=stage.folder, capture_output=True, text=True, timeout=SECONDS
    )
    if done.returncode:
        raise RunFailed(f"queueops commands: {gist(done.stderr)}")
    told: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    return told


def _work(processes: int, threads: int) -> list[Command]:
    """A worker for each pool."""
    return [
        [sys.executable, "-m", "django", "runworker", "--pool", pool, "--threads", str(threads)]
        for pool in ("default", "north", "south")
    ]


COMMANDS = Benchmark(
    name="commands",
    title="Chains through two pools, each with a worker of its own",
    target="a command waits at most 50 ms behind 10,000 whose target is gone",
    measure=measure,
    systems=(replace(OURS, work=_work),),
    count=100,
    listed=True,
)
