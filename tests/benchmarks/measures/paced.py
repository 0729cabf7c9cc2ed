"""What one task costs the server when tasks come one by one, as they do nearly always in production."""

from time import sleep

from tests.benchmarks.benchmark import Benchmark, Figures
from tests.benchmarks.server import SCRIPTS
from tests.benchmarks.stage import RunFailed, Stage

RATES = (200, 1000)
SECONDS = 5
SETTLE_SECONDS = 5


def measure(stage: Stage) -> Figures:
    """Processor time of the server, and calls of scripts or functions, from the first push to the last end."""
    figures: Figures = {}
    for rate in RATES:
        figures |= {f"{name} at {rate}/s": value for name, value in _paced(stage, rate).items()}
        stage.reset()
    return figures


def _paced(stage: Stage, rate: int) -> Figures:
    with stage.workers() as programs:
        stage.warm(programs)
        stage.server.client.config_resetstat()
        cpu = stage.server.cpu_seconds()
        pushed = int(stage.produce(f"paced_{rate}", count=rate * SECONDS)["pushed"])
        ended = stage.wait_for(pushed, SETTLE_SECONDS, programs)
        sleep(0.1)  # the outcome of the last task is written
        cpu = stage.server.cpu_seconds() - cpu
        rows = stage.server.commands()
    if ended < pushed:
        raise RunFailed(f"paced: {pushed - ended} of {pushed} tasks at {rate}/s did not end")
    calls = [row for name, row in rows.items() if name in SCRIPTS]
    scripts, spent = sum(count for count, _ in calls), sum(usec for _, usec in calls)
    return {
        "CPU us/task": 1e6 * cpu / ended,
        "script calls/task": scripts / ended,
        "us/script call": spent / scripts if scripts else 0.0,
        "commands/task": sum(count for count, _ in rows.values()) / ended,
    }


PACED = Benchmark(
    name="paced",
    title="Tasks pushed one at a time to idle workers, results kept: the server's cost",
    target="at most 1.2 times huey's and half of BullMQ's CPU a task; 2 script calls, 60 us each",
    measure=measure,
)
