"""How promptly an idle installation does what is due, or tells a caller that waits."""

import json
import subprocess
import sys
from statistics import quantiles
from time import monotonic

from tests.benchmarks.benchmark import Benchmark, Figures
from tests.benchmarks.stage import Mark, RunFailed, Stage, gist
from tests.benchmarks.systems import OURS, PROGRAMS

BACK_OFF_NS = 100_000_000  # as `shaky` of peers/bench/tasks.py has it
GRACE_SECONDS = 1.0
SECONDS = 120


def measure(stage: Stage) -> Figures:
    """Milliseconds from an end to its waiter, and from a time to the start of what was postponed or backed off."""
    with stage.workers() as programs:
        stage.warm(programs)
        told = _push(stage)
        marks = stage.marks()
    begun: dict[int, list[Mark]] = {}
    for mark in marks:
        begun.setdefault(mark.number, []).append(mark)
    waits = [told["waited"][str(number)] - begun[number][0].ended for number in range(stage.count)]
    late = [begun[int(number)][0].begun - due for number, due in told["due"].items()]
    again = [second.begun - first.ended - BACK_OFF_NS for first, *rest in begun.values() for second in rest]
    return (
        _spread("waiter told", waits)
        | _spread("postponed late", late)
        | _spread("backed off late", again)
        | {"stop after grace ms": _stop(stage)}
    )


def _push(stage: Stage) -> dict[str, dict[str, int]]:
    command = [sys.executable, str(PROGRAMS / "prompt.py"), str(stage.count)]
    done = subprocess.run(
        command, env=stage.environment, cwd=stage.folder, capture_output=True, text=True, timeout=SECONDS
    )
    if done.returncode:
        raise RunFailed(f"queueops prompt: {gist(done.stderr)}")
    told: dict[str, dict[str, int]] = json.loads(done.stdout.splitlines()[-1])
    return told


def _spread(what: str, spent: list[int]) -> Figures:
    cuts = quantiles([nanoseconds / 1e6 for nanoseconds in spent], n=100, method="inclusive")
    return {f"{what} p50 ms": cuts[49], f"{what} p99 ms": cuts[98]}


def _stop(stage: Stage) -> float:
    """How long after the grace time a worker is gone whose task does not end."""
    stage.environment["BENCH_GRACE"] = str(GRACE_SECONDS)
    with stage.workers() as programs:
        stage.warm(programs)
        stage.produce("push", "stubborn", count=1)
        stage.wait_for(1, SECONDS, programs)
        begun = monotonic()
        programs.stop(SECONDS)
        return 1000 * (monotonic() - begun - GRACE_SECONDS)


PROMPT = Benchmark(
    name="prompt",
    title="An idle worker and a waiter: how soon after the time (a back-off's includes the settling before it)",
    target="a waiter within 5 ms, a task within 20 ms of its time, a worker gone within 2.5 s of its grace time",
    measure=measure,
    systems=(OURS,),
    count=200,
    listed=True,
)
