"""Cron expression in words: "At 03:00, Monday through Friday" for `0 3 * * 1-5`. An unusual one stays as it is."""

from __future__ import annotations

import re
from functools import lru_cache

from cron_descriptor import ExpressionDescriptor, Options
from cron_descriptor.Exception import FormatException, MissingFieldException, WrongArgumentException

from queueops.schedules.cron import EVERY, NICKNAMES, PART

UNITS = {"s": "second", "m": "minute", "h": "hour", "d": "day"}
UNCLEAR = re.compile(r"  |\bL\b|\bW\b|[#*?]")
"""Signs of an expression that the descriptor did not understand in full."""


@lru_cache(maxsize=1024)
def in_words(line: str) -> str:
    """The sentence of an expression; the expression itself if there is none."""
    tidy = " ".join(line.split()).lower()
    if match := EVERY.fullmatch(tidy):
        parts = PART.findall(match[1])
        return f"Every {' '.join(_counted(int(number), UNITS[unit], len(parts)) for number, unit in parts)}"
    cron = NICKNAMES.get(tidy, tidy.upper())
    if _is_both_days(cron):
        return line
    try:
        words = ExpressionDescriptor(cron, _options()).get_description()
    except (FormatException, MissingFieldException, WrongArgumentException, LookupError, ValueError, TypeError):
        return line
    return line if UNCLEAR.search(words) else words


def _counted(number: int, unit: str, parts: int) -> str:
    return unit if number == parts == 1 else f"{number} {unit}{'' if number == 1 else 's'}"


def _is_both_days(cron: str) -> bool:
    """Whether a day must match in the month and in the week: the descriptor says "or" then."""
    *_, day, _month, weekday = cron.split() if len(cron.split()) in (5, 6) else ("", "*", "*", "*")
    return "*" not in (day, weekday) and (day.startswith("*") or weekday.startswith("*"))


def _options() -> Options:
    return Options(use_24hour_time_format=True, locale_code="en_US")
