"""Benchmarks: what a target is compared with is a median of several rounds."""

from __future__ import annotations

from tests.benchmarks.measures import BENCHMARKS
from tests.benchmarks.table import table

LONG = {"chunks_large", "idle", "imports", "iterator_large", "profile", "shares", "workflows"}
"""Those whose rounds take minutes, or that repeat what they measure within a round."""


def test_only_the_long_benchmarks_have_fewer_rounds_than_the_command_line_says() -> None:
    assert {name for name, benchmark in BENCHMARKS.items() if benchmark.rounds} == LONG


def test_every_round_of_a_rate_is_shown_with_how_many_are_far_below_the_best() -> None:
    ours = [{"1 process /s": 100.0, "us": 5.0, "2 processes /s": rate} for rate in (200.0, 179.0, 180.0)]
    bare = [{"1 process /s": 400.0, "us": 1.0, "2 processes /s": 400.0}]
    shown = table(BENCHMARKS["drain"], {"queueops": ours, "bare loop": bare}, {})
    assert "- queueops, 2 processes /s: 200, 179, 180; 1 of 3 under 0.9 of the best\n" in shown
    assert "- bare loop, 2 processes /s: 400; 0 of 1 under 0.9 of the best; queueops is 0.45 of it\n" in shown
    assert ", us: " not in shown
