"""Map-reduce: how fast chunks are processed, what map and reduce cost each, and whether tasks share fairly."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from tests.benchmarks.benchmark import Benchmark, Figures
from tests.benchmarks.processes import Programs
from tests.benchmarks.stage import Mark, RunFailed, Stage
from tests.benchmarks.systems import OURS

TIMES = 5  # chunks in all for each task of the other benchmarks
TASKS = 50
REDUCE = 2_000_000_000  # as in peers/marks.py
BUDGETS = 25


def one_task(stage: Stage) -> Figures:
    """One task and one worker process: chunks a second, and what each stage costs by the chunk."""
    count = TIMES * stage.count
    with splitting(stage, count) as programs:
        redis, worker = stage.server.cpu_seconds(), programs.cpu_seconds()
        stage.produce("push", "Chunks", count=1)
        mapped, reduced = stages(stage, programs)
        redis, worker = stage.server.cpu_seconds() - redis, programs.cpu_seconds() - worker
    return paces(count, mapped, reduced) | {
        "worker CPU us/chunk": 1e6 * worker / count,
        "Redis CPU us/chunk": 1e6 * redis / count,
    }


def side_by_side(stage: Stage) -> Figures:
    """Fifty tasks: when the first has done all its chunks, and how far apart the ends are."""
    share = TIMES * stage.count // TASKS
    with splitting(stage, share) as programs:
        stage.produce("push", "Shares", count=TASKS)
        ended = stage.wait_for(TASKS * share, BUDGETS * stage.budget, programs)
    marks = stage.marks()
    if ended < TASKS * share:
        raise RunFailed(f"queueops: {ended} of {TASKS * share} chunks ended.")
    return spread(marks, share)


@contextmanager
def splitting(stage: Stage, chunks: int) -> Iterator[Programs]:
    """One worker process that has run a few tasks; the next map-reduce task has so many chunks."""
    stage.environment["BENCH_CHUNKS"] = str(chunks)
    with stage.workers() as programs:
        stage.warm(programs, 1000)
        yield programs


def stages(stage: Stage, programs: Programs) -> tuple[Mark, Mark]:
    """Wait for the end of the one task; the marks of its map and of its reduce."""
    if stage.wait_for(2, BUDGETS * stage.budget, programs) < 2:
        raise RunFailed(f"queueops: the reduce did not end within {BUDGETS * stage.budget:.0f} s of the map.")
    mapped, reduced = stage.marks()
    return mapped, reduced


def paces(count: int, mapped: Mark, reduced: Mark) -> Figures:
    """From the end of the map to the beginning of the reduce, chunks were processed."""
    return {
        "chunks /s": count / ((reduced.begun - mapped.ended) / 1e9),
        "map us/chunk": (mapped.ended - mapped.begun) / 1e3 / count,
        "reduce us/chunk": (reduced.ended - reduced.begun) / 1e3 / count,
    }


def spread(marks: list[Mark], share: int) -> Figures:
    """Of chunks that say which task's they are, in the order of their ends."""
    done: Counter[int] = Counter()
    ends: dict[int, int] = {}
    least = 0
    for mark in marks:
        done[mark.number] += 1
        if done[mark.number] == share:
            least = least if ends else min(done.values())
            ends[mark.number] = mark.ended
    took = max(ends.values()) - min(mark.begun for mark in marks)
    return {
        "chunks /s": len(marks) / (took / 1e9),
        "least done when the first ends %": 100 * least / share,
        "ends apart, % of the whole time": 100 * (max(ends.values()) - min(ends.values())) / took,
    }


CHUNKS = Benchmark(
    name="chunks",
    title="Map-reduce: one task of no-op chunks, five for each task of --count (1 process)",
    target="15,000 chunks/s",
    measure=one_task,
    systems=(OURS,),
)
SHARES = Benchmark(
    name="shares",
    title="Map-reduce: the same number of chunks in 50 tasks side by side (1 process)",
    target="all within 5 %",
    measure=side_by_side,
    systems=(OURS,),
    rounds=1,
)
