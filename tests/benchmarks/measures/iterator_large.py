"""An iterator with fifty times as many tasks: what must not grow with them."""

from time import sleep

from tests.benchmarks.benchmark import Benchmark, Figures
from tests.benchmarks.measures.chunks_large import slow_scripts, watch_scripts
from tests.benchmarks.stage import RunFailed, Stage
from tests.benchmarks.systems import OURS

TIMES = 50
MEGABYTE = 1_000_000


def measure(stage: Stage) -> Figures:
    """The worker's and the store's memory while it all runs, and the script calls."""
    count = TIMES * stage.count
    stage.environment["BENCH_CHUNKS"] = str(count)
    with stage.workers() as programs:
        stage.warm(programs, 1000)
        before, store = sum(programs.memory()), _used(stage)
        watch_scripts(stage)
        stage.produce("push", "Pages", count=1)
        most_worker, most_store = before, store
        marks = 0
        while marks < count:
            sleep(1)
            if (now := stage.ended()) == marks or not programs.alive():
                raise RunFailed(f"queueops: {marks} of {count} tasks ended, then no more.")
            marks = now
            most_worker, most_store = max(most_worker, sum(programs.memory())), max(most_store, _used(stage))
        after = sum(programs.memory())
        scripts = slow_scripts(stage)
    first, *_, last = stage.marks()
    return {
        "tasks /s": count / ((last.ended - first.begun) / 1e9),
        "worker MB before": before / MEGABYTE,
        "worker MB at most": most_worker / MEGABYTE,
        "worker MB after": after / MEGABYTE,
        "store MB before": store / MEGABYTE,
        "store MB at most": most_store / MEGABYTE,
        "store MB after": _used(stage) / MEGABYTE,
    } | scripts


def _used(stage: Stage) -> int:
    return int(stage.server.info("memory")["used_memory"])


ITERATOR_LARGE = Benchmark(
    name="iterator_large",
    title="An iterator of fifty no-op tasks for each task of --count, those that succeeded kept for 1 s (1 process)",
    target="worker memory and store memory flat, script p99 under 5 ms",
    measure=measure,
    systems=(OURS,),
    rounds=1,
    listed=True,
)
