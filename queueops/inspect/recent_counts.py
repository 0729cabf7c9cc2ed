"""Recent counts: what names of a pool did in the last 10 to 20 seconds, from a sample and its mark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from queueops.inspect.throughput import named

MINUTE_MS = 60_000


def recent(sampled: Mapping[str, Any], word: str) -> Counter[str]:
    """A counter of names, such as `err`, since the mark; empty without a mark."""
    mark = sampled.get("mark") or {}
    if not mark:
        return Counter()
    of_both = sampled["taken"] // MINUTE_MS != mark["@"] // MINUTE_MS
    found = Counter(named((sampled.get("minute"), sampled.get("before") if of_both else None), word))
    found.subtract(named((mark,), word))
    return +found


def recent_ms(sampled: Mapping[str, Any]) -> int:
    """The time since the mark, in ms; 0 without a mark."""
    mark = sampled.get("mark") or {}
    return max(1, int(sampled["taken"] - mark["@"])) if mark else 0


def usual_ms(sampled: Mapping[str, Any], name: str) -> float | None:
    """The run time of a name in the fastest of some earlier minutes; None if it is not known."""
    ms = (sampled.get("usual") or {}).get(name, (-1, 0))[0]
    return None if ms < 0 else max(1.0, float(ms))


def usual_per_s(sampled: Mapping[str, Any], name: str) -> float:
    """How many tasks of a name came per second in the fullest of some earlier minutes."""
    return float((sampled.get("usual") or {}).get(name, (-1, 0))[1]) / 60
