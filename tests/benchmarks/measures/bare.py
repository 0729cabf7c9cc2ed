"""The yardstick: a hundred lines that claim, run and settle, and nothing else."""

from tests.benchmarks.benchmark import Benchmark
from tests.benchmarks.measures import drain
from tests.benchmarks.systems import BARE, OURS

BARE_LOOP = Benchmark(
    name="bare",
    title="The bare loop (8 threads, 32 leases a claim) beside the whole engine",
    target="what is left between the two is what the engine adds",
    measure=drain.measure,
    systems=(OURS, BARE),
)
