"""History reader: rows of several questions about the history, in one round trip to each server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from queueops.redis.reader import Argument, Reader

MOST_STEPS = 1000
"""Steps of the history that one call reads."""

Steps = Sequence[tuple[str, int]]
"""Level and number of each."""


class HistoryQuestion(NamedTuple):
    """Some series of some pools over the same steps."""

    steps: Steps
    series: Mapping[str, Sequence[str]]
    """By pool."""
    marks: tuple[int, int, int] = (0, 0, 0)
    """How many marks of each list at most, from when, until when."""


class HistoryAnswer(NamedTuple):
    """Rows and marks by pool, without pools that do not answer."""

    rows: dict[str, list[Sequence[bytes | None]]]
    """For each step a row of each series."""
    marks: dict[str, list[list[bytes]]]


class _Call(NamedTuple):
    """One call of the script: a part of the steps of one question about one pool."""

    question: int
    begin: int
    arguments: list[Argument]


def read_histories(reader: Reader, questions: Sequence[HistoryQuestion]) -> list[HistoryAnswer]:
    """The answers, in one round trip to each server; see `lua/history.lua`.

    One call reads MOST_STEPS steps. A step of a wrong type counts as empty.
    """
    calls: dict[str, list[_Call]] = {}
    found = [HistoryAnswer({}, {}) for _ in questions]
    for number, question in enumerate(questions):
        for pool, series in question.series.items():
            if series:
                found[number].rows[pool] = [(None,) * len(series)] * len(question.steps)
                calls.setdefault(pool, []).extend(_calls(number, question, series))
    replies = reader.ask_each("history", {pool: [call.arguments for call in each] for pool, each in calls.items()})
    for pool, each in replies.items():
        for call, (rows, marks) in zip(calls[pool], each, strict=True):
            found[call.question].marks.setdefault(pool, marks)
            for position, row in rows:
                found[call.question].rows[pool][call.begin + int(position)] = row
    for answer in found:
        for pool in reader.silent:
            answer.rows.pop(pool, None)
    return found


def _calls(number: int, question: HistoryQuestion, series: Sequence[str]) -> Iterator[_Call]:
    for begin in range(0, len(question.steps), MOST_STEPS):
        runs = list(_runs(question.steps[begin : begin + MOST_STEPS]))
        marks = question.marks if begin == 0 else (0, 0, 0)
        yield _Call(number, begin, [*marks, len(runs), *(part for run in runs for part in run), *series])


def _runs(steps: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int, int]]:
    """The steps as runs of steps that follow each other: level, first step, how many."""
    level, first, count = "", 0, 0
    for word, slot in steps:
        if word == level and slot == first + count:
            count += 1
            continue
        if count:
            yield level, first, count
        level, first, count = word, slot, 1
    if count:
        yield level, first, count
