"""What one task costs the server."""

from tests.benchmarks.benchmark import Benchmark, Figures
from tests.benchmarks.measures.drain import drained
from tests.benchmarks.stage import Stage


def measure(stage: Stage) -> Figures:
    """Processor time of the server from start to settled, and how often it was asked."""
    one = drained(stage, 1)
    return {
        "Redis CPU us/task": one["redis_us"],
        "round trips/task": one["trips"],
        "commands/task": one["commands"],
        "worker CPU us/task": one["worker_us"],
    }


REDIS_CPU = Benchmark(
    name="redis_cpu",
    title="The server's cost of running a task (1 process, backlog of no-ops)",
    target="18 us of Redis CPU a task",
    measure=measure,
)
