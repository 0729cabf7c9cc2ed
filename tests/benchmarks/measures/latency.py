"""How soon an idle worker starts what is pushed."""

from statistics import quantiles

from tests.benchmarks.benchmark import Benchmark, Figures
from tests.benchmarks.stage import Stage

SETTLE_SECONDS = 5


def measure(stage: Stage) -> Figures:
    """Milliseconds from before the push to the task's first line, on one clock."""
    with stage.workers() as programs:
        stage.warm(programs)
        begun = stage.produce("latency")["begun"]
        stage.wait_for(len(begun), SETTLE_SECONDS, programs)
    spent = [(mark.begun - begun[mark.number]) / 1e6 for mark in stage.marks()]
    cuts = quantiles(spent, n=100, method="inclusive")
    return {"p50 ms": cuts[49], "p99 ms": cuts[98], "longest ms": max(spent)}


LATENCY = Benchmark(
    name="latency",
    title="Idle worker: push to start",
    target="p50 under 0.6 ms, and ahead of huey in every round",
    measure=measure,
    count=500,
)
