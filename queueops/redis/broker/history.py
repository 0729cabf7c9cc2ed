"""History calls of the watchdog: read counters of minutes and rolled-up steps, and store steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from queueops.model import marks
from queueops.model.history import LEVELS, MINUTE, RAW_KEPT_S, Level, Rows, pack, total, unpack
from queueops.redis.query_replies import text
from queueops.redis.store_client import StoreClient

MOST_ROWS = 500
"""Rows that one call stores: it does not hold up the server for longer than a few milliseconds."""


class HistoryCalls(StoreClient):
    """What the roll-up of the history reads and writes."""

    def history_marks(self, pool: str) -> dict[str, int]:
        """The last step of each level that was rolled up, by the word of the level; 0 for none."""
        marks = [level.mark for level in LEVELS]
        found = self.ask_one(pool, lambda client: client.hmget(self.keys(pool).clock, marks)) or [None] * len(marks)
        return {level.word: _number(value) for level, value in zip(LEVELS, found, strict=True)}

    def minute_counters(self, pool: str, slots: Sequence[int]) -> list[dict[str, str]]:
        """The counters of each of these minutes; empty for one without any."""
        names = [self.keys(pool).metrics(slot) for slot in slots]
        found = self.ask_all(pool, lambda pipe: [pipe.hgetall(name) for name in names])
        return [{text(field): text(value) for field, value in (fields or {}).items()} for fields in found]

    def history_steps(self, pool: str, level: Level, slots: Sequence[int]) -> list[Rows]:
        """The rows of each of these steps of the history; empty for one without any."""
        names = [self.keys(pool).history(level.word, slot) for slot in slots]
        found = self.ask_all(pool, lambda pipe: [pipe.hgetall(name) for name in names])
        return [
            {text(series): row for series, data in (fields or {}).items() if (row := unpack(data)) is not None}
            for fields in found
        ]

    def keep_history(self, pool: str, level: Level, steps: Mapping[int, Rows], last: int) -> None:
        """Store rolled-up steps, and note that all up to ``last`` are rolled up.

        A stored step that counts more stays.
        """
        raw = RAW_KEPT_S if level is MINUTE else ""
        for part, done in _parts(steps, last):
            arguments: list[str | int | bytes] = []
            for slot, rows in part.items():
                arguments += (slot, 1 + 2 * len(rows), total(rows))
                for series, row in rows.items():
                    arguments += (series, pack(row))
            self._call("keep_history", pool, level.word, level.mark, done, level.kept_s, raw, *arguments)

    def keep_marks(
        self, pool: str, conditions: Sequence[marks.Condition], starts: Sequence[marks.Mark]
    ) -> tuple[int, int]:
        """Report all alarms that a pool has now, and starts of workers; return how many alarms began and ended.

        A start that is known already is kept once.
        """
        alarms = [
            part for each in conditions for part in (each.about, each.level, each.text[: marks.LONGEST], each.sentence)
        ]
        begun = [part for mark in starts for part in (mark.at_ms, marks.encode(mark))]
        bounds = marks.MOST_MARKS, marks.KEPT_MS, marks.GONE_MS
        came, gone = self._call("keep_marks", pool, *bounds, len(conditions), *alarms, *begun)
        return int(came), int(gone)


def _parts(steps: Mapping[int, Rows], last: int) -> Iterator[tuple[dict[int, Rows], int]]:
    """The steps in parts of at most MOST_ROWS rows, or of one step, each with the last step that is then rolled up."""
    part: dict[int, Rows] = {}
    for slot in sorted(steps):
        if part and sum(map(len, part.values())) + len(steps[slot]) > MOST_ROWS:
            yield part, max(part)
            part = {}
        part[slot] = steps[slot]
    yield part, last


def _number(value: bytes | None) -> int:
    return int(value) if value and value.isdigit() else 0
