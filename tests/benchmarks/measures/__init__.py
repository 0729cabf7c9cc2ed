"""The benchmarks, in the order in which they run."""

from tests.benchmarks.benchmark import Benchmark
from tests.benchmarks.measures import bare, drain, idle, latency, memory, profile, push, redis_cpu, sleep

BENCHMARKS: dict[str, Benchmark] = {
    benchmark.name: benchmark
    for benchmark in (
        drain.DRAIN,
        push.PUSH,
        push.PUSH_MANY,
        latency.LATENCY,
        idle.IDLE,
        sleep.SLEEP,
        memory.MEMORY,
        redis_cpu.REDIS_CPU,
        bare.BARE_LOOP,
        profile.PROFILE,
    )
}
