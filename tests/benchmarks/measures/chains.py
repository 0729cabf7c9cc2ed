"""Chains and groups: how long one takes on an idle worker, and how many hops a second a worker makes."""

from statistics import median

from tests.benchmarks.benchmark import Benchmark, Figures
from tests.benchmarks.stage import RunFailed, Stage
from tests.benchmarks.systems import OURS

STEPS, WIDTH = 10, 1000
ALONE = 20  # of each, one after the other
LAST = 3_000_000_000  # as in peers/marks.py


def measure(stage: Stage) -> Figures:
    """From before the push until the result is known; then hops a second of many chains that were there before."""
    with stage.workers() as programs:
        stage.warm(programs)
        known = stage.produce("known", "Ten", count=ALONE)
        stage.warm(programs)
        groups = _alone(stage, "Thousand", WIDTH, programs)
    stage.reset()
    count = int(stage.produce("push", "Ten", count=stage.count // STEPS)["pushed"])
    with stage.workers() as programs:
        server = stage.server.cpu_seconds()
        ended = stage.wait_for(STEPS * count, 5 * stage.budget, programs)
        server = stage.server.cpu_seconds() - server
        worker = programs.cpu_seconds()
    marks = stage.marks()
    if ended < STEPS * count:
        raise RunFailed(f"queueops: {ended} of {STEPS * count} tasks of chains ended.")
    return {
        "chain of 10 ms": median(known["rested"]),
        "slowest ms": max(known["rested"]),
        "one after the other ms": median(known["at_once"]),
        "group of 1,000 ms": median(groups),
        "hops /s": ended / ((marks[-1].ended - marks[0].begun) / 1e9),
        "Redis CPU us/hop": 1e6 * server / ended,
        "worker CPU us/hop": 1e6 * worker / ended,
    }


def _alone(stage: Stage, task: str, size: int, programs: object) -> list[float]:
    """How many milliseconds each took."""
    before = stage.ended()
    begun = stage.produce("alone", task, count=ALONE)["begun"]
    stage.wait_for(before + ALONE * size, stage.budget, programs)  # type: ignore[arg-type]
    ends: dict[int, int] = {}
    for mark in stage.marks()[before:]:
        ends[mark.number % LAST] = mark.ended
    return [(ends[number] - begun[number]) / 1e6 for number in range(ALONE)]


CHAINS = Benchmark(
    name="chains",
    title="Chains of 10 no-ops and groups of 1,000 on an idle worker, then --count hops of chains (1 process)",
    target="chain under 8 ms, group under 150 ms, 4,000 hops/s",
    measure=measure,
    systems=(OURS,),
    listed=True,
)
