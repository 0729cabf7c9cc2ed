"""Numbers of tasks in words: a record whose kind brings a noun has this noun."""

from __future__ import annotations

from queueops.model import kinds

TASK = ("task", "tasks")


def nouns(record: str) -> tuple[str, str]:
    """What one task with this record is called, and what many are; an empty record is any."""
    return next((each.nouns[record] for each in kinds.roles("details") if record in each.nouns), TASK)


def numbered(number: int, record: str) -> str:
    """So many tasks with this record."""
    one, many = nouns(record)
    return f"{number:,} {one if number == 1 else many}"
