"""How fast one producer queues tasks."""

from tests.benchmarks.benchmark import Benchmark, Figures
from tests.benchmarks.stage import Stage
from tests.benchmarks.systems import EVERY


def one_at_a_time(stage: Stage) -> Figures:
    """A call for each task."""
    cpu = stage.server.cpu_seconds()
    told = stage.produce("push")
    return {"tasks /s": told["rate"], "Redis CPU us": 1e6 * (stage.server.cpu_seconds() - cpu) / told["pushed"]}


def all_at_once(stage: Stage) -> Figures:
    """One call for all tasks."""
    cpu = stage.server.cpu_seconds()
    told = stage.produce("push_many")
    return {"tasks /s": told["rate"], "Redis CPU us": 1e6 * (stage.server.cpu_seconds() - cpu) / told["pushed"]}


PUSH = Benchmark(
    name="push",
    title="Push one at a time",
    target="12,000/s, ahead of huey",
    measure=one_at_a_time,
)
PUSH_MANY = Benchmark(
    name="push_many",
    title="Push all in one call (systems that have one)",
    target="100,000/s",
    measure=all_at_once,
    systems=tuple(system for system in EVERY if system.bulk),
)
