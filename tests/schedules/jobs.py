"""Tasks that the tests of schedules schedule."""

from __future__ import annotations

from collections.abc import Iterable

from queueops import MapReduce, task


@task(name="tests.report", retries=5, tags=["reports"])
def report(day: str, password: str = "") -> str:
    """Say which day it was."""
    return day


class Counting(MapReduce):
    """Counts to a number."""

    max_parallel = 3

    def map(self, count: int) -> Iterable[int]:
        """The numbers."""
        return range(count)

    def process(self, chunk):
        return chunk

    def reduce(self, results: Iterable[int]) -> int:
        """Their sum."""
        return sum(results)
