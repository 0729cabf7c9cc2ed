"""How well waiting tasks overlap."""

from tests.benchmarks.benchmark import Benchmark, Figures
from tests.benchmarks.measures.drain import rate
from tests.benchmarks.stage import Stage

THREADS = 32


def measure(stage: Stage) -> Figures:
    """Tasks of 10 ms in one process of 32 threads (or coroutines, where that is what the system is best at)."""
    queued = stage.fill("nap")
    with stage.workers(threads=THREADS) as programs:
        stage.wait_for(queued, stage.budget, programs)
    return {"tasks /s": rate(stage.marks())}


SLEEP = Benchmark(
    name="sleep",
    title="Tasks that sleep 10 ms, 32 at a time (the limit is 3,200/s; rq runs one at a time)",
    target="2,900/s",
    measure=measure,
    count=2000,
)
