"""Marks of the history: alarms that began and ended, workers that started, and new versions of them.

`series` answers them with its points.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, ClassVar

from queueops.inspect.answers import Answer
from queueops.model.marks import BEGUN, ENDED, START, Mark, decode
from queueops.model.sentences import say
from queueops.model.stored_sentences import Stored

MOST = 100
"""Marks of a pool and a range that one call reads, of alarms and of starts each; the newest."""
VERSION = "version"
MINUTE_MS = 60_000


class HistoryMark(Answer, frozen=True, kw_only=True):
    """One moment of the history."""

    TEXTS: ClassVar = ("text",)

    at_ms: int
    kind: str  # alarm (it began), end (of an alarm), start (of workers), version (the first worker of another version)
    text: str
    level: str = ""  # of an alarm: warning, danger
    pool: str = ""


def marks_of(found: Mapping[str, Sequence[Sequence[Any]]], about: str = "") -> tuple[HistoryMark, ...]:
    """The marks of pools as the store has them, the newest first; of alarms only those that say `about`."""
    told: dict[tuple[str, str, int], HistoryMark] = {}
    for pool, (alarms, starts, before) in ((pool, lists) for pool, lists in found.items() if len(lists) == 3):
        begun = list(_read(starts))[::-1]
        for mark in (*_alarms(pool, _read(alarms)), *_releases(pool, begun, before), *_starts(pool, begun)):
            told.setdefault(
                (mark.kind, mark.text, mark.at_ms // MINUTE_MS), mark
            )  # an alarm of the store is of all pools
    shown = (mark for mark in told.values() if about in mark.text or mark.kind not in (BEGUN, ENDED))
    return tuple(sorted(shown, key=lambda mark: -mark.at_ms))


def _read(flat: Sequence[Any]) -> Iterator[tuple[int, Mark]]:
    """The readable ones of these members and scores."""
    for data, score in zip(flat[::2], flat[1::2], strict=False):
        if (mark := decode(data)) is not None:
            yield int(float(score)), mark


def _alarms(pool: str, found: Iterable[tuple[int, Mark]]) -> Iterator[HistoryMark]:
    for at_ms, mark in found:
        if mark.kind in (BEGUN, ENDED):
            yield HistoryMark(at_ms=at_ms, kind=mark.kind, text=mark.told, level=mark.level, pool=pool)


def _releases(pool: str, found: Iterable[tuple[int, Mark]], before: Sequence[Any]) -> Iterator[HistoryMark]:
    """A mark where the version or the code of workers is new, by their starts; oldest first."""
    last = next((mark for _, mark in _read(before)), None)
    known, names = (None, set[str]()) if last is None else (last.version, {last.names})
    for at_ms, mark in found:
        if known is not None and mark.version != known:
            text = say(
                "Workers of pool %(pool)s have the version %(version)s; before it was %(before)s.",
                pool=pool,
                version=mark.version,
                before=known,
            )
            yield HistoryMark(at_ms=at_ms, kind=VERSION, text=text, pool=pool)
        elif names and mark.names not in names:
            text = say("Workers of pool %(pool)s have new code: they know other tasks than before.", pool=pool)
            yield HistoryMark(at_ms=at_ms, kind=VERSION, text=text, pool=pool)
        known, names = mark.version, names | {mark.names}


def _starts(pool: str, found: Sequence[tuple[int, Mark]]) -> Iterator[HistoryMark]:
    """The starts of a minute as one mark; oldest first."""
    for minute, of_minute in groupby(found, lambda each: each[0] // MINUTE_MS):
        rows = list(of_minute)
        told: str = Stored(rows[0][1].text)
        if len(rows) > 1:
            told = say("%(count)s workers of pool %(pool)s started.", count=len(rows), pool=pool)
        yield HistoryMark(at_ms=minute * MINUTE_MS, kind=START, text=told, pool=pool)


def release_of(pool: str, starts: Sequence[Any], before: Sequence[Any]) -> HistoryMark | None:
    """The newest release among these starts of workers, the newest first, and the last start before them."""
    return max(_releases(pool, list(_read(starts))[::-1], before), key=lambda mark: mark.at_ms, default=None)
