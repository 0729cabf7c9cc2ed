"""The benchmarks, in the order in which they run."""

from tests.benchmarks.benchmark import Benchmark
from tests.benchmarks.measures import (
    bare,
    chains,
    chunks,
    chunks_large,
    commands,
    drain,
    fleet,
    floor,
    idle,
    imports,
    iterator_large,
    latency,
    memory,
    paced,
    profile,
    prompt,
    push,
    redis_cpu,
    sleep,
    workflows,
)

BENCHMARKS: dict[str, Benchmark] = {
    benchmark.name: benchmark
    for benchmark in (
        drain.DRAIN,
        push.PUSH,
        push.PUSH_MANY,
        latency.LATENCY,
        prompt.PROMPT,
        idle.IDLE,
        sleep.SLEEP,
        memory.MEMORY,
        redis_cpu.REDIS_CPU,
        paced.PACED,
        floor.FLOOR,
        fleet.FLEET,
        bare.BARE_LOOP,
        chunks.CHUNKS,
        chunks.SHARES,
        chunks_large.CHUNKS_LARGE,
        chains.CHAINS,
        iterator_large.ITERATOR_LARGE,
        commands.COMMANDS,
        workflows.WORKFLOWS,
        imports.IMPORTS,
        profile.PROFILE,
    )
}
