"""Composites for workers that are killed, each with the result that it must come to."""

from __future__ import annotations

import time

from queueops import Batch, Iterator, MapReduce, chain, group, task
from queueops.kinds.composites.parts import Composite

CHUNKS = 3
"""Of each map-reduce task; their squares sum up to 5."""


@task(retries=0)
def step(number: int) -> int:
    """One more, after a while that is long enough to be killed in."""
    time.sleep(0.002 * (number % 4))
    return number + 1


@task(retries=0)
def sum_up(numbers: list[int]) -> int:
    """Their sum."""
    return sum(numbers)


class Squares(MapReduce):
    """The sum of the squares below a number."""

    retries = 0

    def map(self, number: int) -> range:
        """The numbers."""
        return range(number)

    def process(self, chunk: int) -> int:
        """Square one."""
        return chunk * chunk

    def reduce(self, results) -> int:
        """Sum up."""
        return sum(results)


class Steps(Iterator):
    """Tasks and chains, one batch of two after the other."""

    window, retries = 3, 0

    def iterate(self, state: int | None, batches: int) -> Batch | None:
        """Two more."""
        number = state or 0
        return None if number == batches else Batch(number + 1, [step.s(number), chain(step.s(number), step.s())])


def tree(number: int) -> tuple[Composite, object, int]:
    """The tree of a number: its result, and how many records there are of it in the end."""
    if number % 3 == 0:
        inner = group(step.s(), chain(step.s(), step.s()), step.si(7))
        return chain(step.s(number), inner, sum_up.s()), 2 * number + 13, 9
    if number % 3 == 1:
        both = group(chain(step.s(number), Squares.si(CHUNKS)), step.s(number), on_failure="outcomes")
        return both, _outcomes(number), 5
    return chain(step.s(1), Steps.si(2), step.si(number)), number + 1, 12


def _outcomes(number: int) -> list[dict[str, object]]:
    return [{"state": "succeeded", "result": result} for result in (5, number + 1)]
