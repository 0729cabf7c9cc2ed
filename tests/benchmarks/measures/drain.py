"""How fast workers drain a backlog."""

from time import sleep

from tests.benchmarks.benchmark import Benchmark, Figures
from tests.benchmarks.stage import Mark, RunFailed, Stage


def measure(stage: Stage) -> Figures:
    """One worker process, then two, each on a full queue."""
    one = drained(stage, 1)
    stage.reset()
    two = drained(stage, 2)
    return {
        "1 process /s": one["rate"],
        "2 processes /s": two["rate"],
        "worker CPU us": one["worker_us"],
        "Redis CPU us": one["redis_us"],
        "commands a task": one["commands"],
        "tasks a call": one["batch"],
        "commands a task of 2": two["commands"],
        "tasks a call of 2": two["batch"],
    }


def drained(stage: Stage, processes: int) -> Figures:
    """Fill the queue, start the workers, wait: tasks a second, and what one task cost."""
    queued = stage.fill()
    redis, before, calls = stage.server.cpu_seconds(), stage.server.info("stats"), stage.server.script_calls()
    with stage.workers(processes) as programs:
        stage.wait_for(1, 0, programs)
        worker = programs.cpu_seconds()
        begun = stage.ended()
        ended = stage.wait_for(queued, stage.budget, programs)
        sleep(0.1)  # what lingers before it is settled belongs to the cost
        worker = programs.cpu_seconds() - worker
        redis, after = stage.server.cpu_seconds() - redis, stage.server.info("stats")
        calls = stage.server.script_calls() - calls
    if len({mark.number for mark in stage.marks()}) < ended:
        raise RunFailed(f"{stage.system.name}: a task ran twice.")
    return {
        "rate": rate(stage.marks()[:ended], processes),
        "worker_us": 1e6 * worker / max(1, ended - begun),
        "redis_us": 1e6 * redis / ended,
        "trips": (after["total_reads_processed"] - before["total_reads_processed"]) / ended,
        "commands": (after["total_commands_processed"] - before["total_commands_processed"]) / ended,
        "batch": ended / max(1, calls),
    }


def rate(marks: list[Mark], processes: int = 1) -> float:
    """Tasks a second from when every process has begun (the first one, if they never all did) to the last end."""
    first: dict[int, int] = {}
    for mark in marks:
        first.setdefault(mark.pid, mark.begun)
    begun = max(first.values()) if len(first) == processes else min(first.values())
    counted = [mark.ended for mark in marks if mark.ended > begun]
    return len(counted) / ((max(counted) - begun) / 1e9) if counted else 0.0


DRAIN = Benchmark(
    name="drain",
    title="Drain a backlog of no-op tasks, results kept",
    target="1 process: 42,000/s, five times the best Python peer and ahead of BullMQ; 2 processes: 1.2 times one",
    measure=measure,
)
