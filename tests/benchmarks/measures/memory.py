"""What a queued task takes in the server, and a worker on its machine."""

from time import sleep

from tests.benchmarks.benchmark import Benchmark, Figures
from tests.benchmarks.stage import Stage

RUN_FIRST = 1000
MEGABYTE = 1_000_000


def measure(stage: Stage) -> Figures:
    """Bytes by the growth of used_memory; the worker's proportional set size after it ran a thousand tasks."""
    with stage.workers() as programs:
        stage.warm(programs, RUN_FIRST)
        sizes = programs.memory()
    stage.reset()
    stage.produce("push", count=1)
    before = _used(stage)
    queued = stage.fill()
    return {
        "bytes a queued task": (_used(stage) - before) / queued,
        "worker MB": sum(sizes) / MEGABYTE,
        "largest process MB": max(sizes) / MEGABYTE,
    }


def _used(stage: Stage) -> int:
    sleep(0.2)  # the producer's connection and its buffers are gone by then
    return int(stage.server.info("memory")["used_memory"])


MEMORY = Benchmark(
    name="memory",
    title="Memory: a queued no-op in the server, one worker (all its processes)",
    target="450 bytes a task; a worker process 60 MB",
    measure=measure,
    rounds=1,
)
