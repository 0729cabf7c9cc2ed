"""What a benchmark is: a name, a question, and a function that answers it for one system, once."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.benchmarks.stage import Stage
from tests.benchmarks.systems import EVERY, System

Figures = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """`measure` gives figures by column title; the medians over `rounds` are shown (None: as the command line says)."""

    name: str
    title: str
    target: str
    measure: Callable[[Stage], Figures]
    systems: tuple[System, ...] = EVERY
    count: int | None = None
    rounds: int | None = None
    listed: bool = False
