"""What a worker costs that has nothing to do."""

from time import sleep

from tests.benchmarks.benchmark import Benchmark, Figures
from tests.benchmarks.stage import Stage

CALM_SECONDS, WATCHED_SECONDS = 15.0, 60.0


def measure(stage: Stage) -> Figures:
    """Commands by INFO commandstats (with those that scripts run), reads of sockets, processor time; by the second."""
    with stage.workers() as programs:
        stage.warm(programs)
        sleep(CALM_SECONDS)
        stage.server.client.config_resetstat()
        cpu = programs.cpu_seconds()
        sleep(WATCHED_SECONDS)
        commands = stage.server.commands()
        reads = int(stage.server.info("stats")["total_reads_processed"]) - 3  # the benchmark's own
        cpu = programs.cpu_seconds() - cpu
    calls = sum(count for count, _ in commands.values())
    return {
        "commands /s": calls / WATCHED_SECONDS,
        "round trips /s": max(0, reads) / WATCHED_SECONDS,
        "worker CPU ms/s": 1000 * cpu / WATCHED_SECONDS,
    }


IDLE = Benchmark(
    name="idle",
    title="An idle worker",
    target="at most 1 command a second",
    measure=measure,
    rounds=1,
)
