"""Figures as people read them."""

from collections.abc import Iterator
from statistics import median

from tests.benchmarks.benchmark import Benchmark, Figures
from tests.benchmarks.systems import EVERY, OURS

RATE, NEAR = "/s", 0.9
"""How the title of a rate ends, and the part of the best round that every round shall reach."""
LOSSY = {system.name for system in EVERY if not system.keeps}


def medians(rounds: list[Figures]) -> Figures:
    """The median of each column over the rounds."""
    return {column: median(figures[column] for figures in rounds) for column in rounds[0]}


def table(benchmark: Benchmark, results: dict[str, list[Figures]], failures: dict[str, str]) -> str:
    """A table in Markdown: a row for each system, or a row for each figure when there is one system with many."""
    lines = [f"### {benchmark.name}: {benchmark.title}"]
    if benchmark.target:
        lines.append(f"Target: {benchmark.target}")
    figures = {name: medians(rounds) for name, rounds in results.items() if rounds}
    rows = _listed(figures) if benchmark.listed else _by_system(figures)
    lines += ["", *_aligned(rows)] if rows else []
    lines += [] if benchmark.listed else _rounds(results)
    if LOSSY & figures.keys() and not benchmark.listed:
        lines.append("(*) forgets the task that a killed worker was running")
    lines += [f"- {name}: {' '.join(text.split())}" for name, text in failures.items()]
    return "\n".join(lines) + "\n"


def _rounds(results: dict[str, list[Figures]]) -> list[str]:
    """The first column and the rates round by round, and how many times the median of each other system ours is."""
    lines, ours = [], results.get(OURS.name)
    for name, rounds in results.items():
        first, *rest = rounds[0]
        for column in (first, *(each for each in rest if each.endswith(RATE))):
            each = _column(rounds, column)
            line = f"- {name}, {column}: {', '.join(map(_number, each))}"
            if column.endswith(RATE):
                line += f"; {sum(value < NEAR * max(each) for value in each)} of {len(each)} under {NEAR} of the best"
            if ours and name != OURS.name:
                line += f"; queueops is {median(_column(ours, column)) / median(each):.2f} of it"
            lines.append(line)
        lines.append(f"  lowest round as a part of the highest: {', '.join(_spreads(rounds))}")
    return lines


def _spreads(rounds: list[Figures]) -> Iterator[str]:
    """How far apart the rounds of each column are."""
    for column in rounds[0]:
        each = [figures[column] for figures in rounds]
        yield f"{column} {min(each) / max(each):.2f}" if max(each) > 0 else f"{column} -"


def _column(rounds: list[Figures], column: str) -> list[float]:
    return [figures[column] for figures in rounds]


def _by_system(figures: dict[str, Figures]) -> list[list[str]]:
    columns = list(dict.fromkeys(column for row in figures.values() for column in row))
    rows = [
        [f"{name} (*)" if name in LOSSY else name, *(_number(row.get(column)) for column in columns)]
        for name, row in figures.items()
    ]
    return [["system", *columns], *rows] if rows else []


def _listed(figures: dict[str, Figures]) -> list[list[str]]:
    rows = [[column, _number(value)] for row in figures.values() for column, value in row.items()]
    return [["what", "figure"], *rows] if rows else []


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    heads = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return [_line(rows[0], widths), _line(heads, widths), *(_line(row, widths) for row in rows[1:])]


def _line(cells: list[str], widths: list[int]) -> str:
    figures = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
    return f"| {' | '.join([cells[0].ljust(widths[0]), *figures])} |"
