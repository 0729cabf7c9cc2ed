"""What a queued task takes in the server, and a worker on its machine."""

from collections.abc import Callable
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
    return {
        "bytes a queued task": _growth(stage, stage.fill),
        "with an argument of 200 bytes": _growth(stage, lambda: int(stage.produce("push_long")["pushed"])),
        "worker MB": sum(sizes) / MEGABYTE,
        "largest process MB": max(sizes) / MEGABYTE,
    }


def _growth(stage: Stage, fill: Callable[[], int]) -> float:
    stage.reset()
    stage.produce("push", count=1)
    before = _used(stage)
    queued = fill()
    return (_used(stage) - before) / queued


def _used(stage: Stage) -> int:
    sleep(0.2)  # the producer's connection and its buffers are gone by then
    return int(stage.server.info("memory")["used_memory"])


MEMORY = Benchmark(
    name="memory",
    title="Memory: a queued no-op in the server, one worker (all its processes)",
    target="400 bytes a task, 640 with 200 bytes (480 and 720 on Redis 7.0); a worker process 60 MB",
    measure=measure,
)
