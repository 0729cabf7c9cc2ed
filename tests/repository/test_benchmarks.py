"""Benchmarks: what a target is compared with is a median of several rounds."""

from __future__ import annotations

from tests.benchmarks.measures import BENCHMARKS

LONG = {"chunks_large", "idle", "imports", "iterator_large", "profile", "shares", "workflows"}
"""Those whose rounds take minutes, or that repeat what they measure within a round."""


def test_only_the_long_benchmarks_have_fewer_rounds_than_the_command_line_says() -> None:
    assert {name for name, benchmark in BENCHMARKS.items() if benchmark.rounds} == LONG
