"""Rates: starts in a time, such as `10/m`, as an option gives them and as a record has them."""

from __future__ import annotations

import re
from typing import Any

from queueops.errors import BadOption

WHOLE_TASK = "*"
"""The key of a task without `limit_key`: all of its calls share the limit."""
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_RATE = re.compile(r"(\d+(?:\.\d+)?)/([smhd])")
MOST_PER_SECOND = 100_000


def per_second(name: str, value: Any) -> float:
    """Starts in a second: a number of them, or a text such as `10/m`. Raises BadOption."""
    found = _RATE.fullmatch(value) if isinstance(value, str) else None
    if found:
        rate = float(found[1]) / UNITS[found[2]]
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        rate = float(value)
    else:
        rate = 0
    if not 0.99 / UNITS["d"] <= rate <= MOST_PER_SECOND:
        expected = 'a text such as "10/m" (s, m, h or d), or a number of starts in a second; one in a day is the least'
        raise BadOption(name=name, value=value, expected=expected)
    return rate


def shown(rate: float) -> str:
    """A rate in the first unit in which it is at least one: `10/m`."""
    unit = next((unit for unit, seconds in UNITS.items() if rate * seconds >= 0.999_999), "d")
    return f"{round(rate * UNITS[unit], 2):g}/{unit}"
