"""Samples: the figures of a pool at one moment, as `lua/sample.lua` writes them, and the counters in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

MINUTE_MS = 60_000
MARKED = ("ok", "err", "in", "loud", "lost")
"""The counters of which a mark is set."""


def sample_of(data: str) -> dict[str, Any]:
    """Decode a sample: `minute` and `before`, the counters of this minute and the previous one, by word and name.

    It adds `counted`, their sums, `recent`, those since the mark, and `mark_ms`, its time (epoch ms; 0: no mark).
    Raises ValueError, TypeError, KeyError, AttributeError or RecursionError for what a foreign program has written.
    """
    found: dict[str, Any] = msgspec.json.decode(data)
    minute, before, mark = (_by_word(found.get(part) or {}) for part in ("minute", "before", "mark"))
    mark_ms = mark.pop("@", {}).get("", 0)
    both = {word: _sum(minute.get(word, {}), before.get(word, {})) for word in minute.keys() | before.keys()}
    newer = minute if mark_ms // MINUTE_MS == found["taken"] // MINUTE_MS else both
    recent = {word: _less(newer.get(word, {}), mark.get(word, {})) for word in MARKED}
    found |= {"minute": minute, "before": before, "counted": both, "recent": recent if mark_ms else {}}
    return found | {"mark_ms": mark_ms}


def counted(sampled: Mapping[str, Any], word: str) -> Counter[str]:
    """A counter of names, such as `err`, over this and the previous minute, without names that have none."""
    return Counter(sampled.get("counted", {}).get(word))


def recent(sampled: Mapping[str, Any], word: str) -> Counter[str]:
    """The same counter since the mark, 10 to 20 seconds ago; empty without a mark."""
    return Counter(sampled.get("recent", {}).get(word))


def recent_ms(sampled: Mapping[str, Any]) -> int:
    """The time since the mark, in ms; 0 without a mark."""
    mark_ms = sampled.get("mark_ms", 0)
    return max(1, int(sampled["taken"] - mark_ms)) if mark_ms else 0


def usual_ms(sampled: Mapping[str, Any], name: str) -> float | None:
    """The run time of a name in the fastest of some earlier minutes; None if it is not known."""
    ms = (sampled.get("usual") or {}).get(name, (-1, 0))[0]
    return None if ms < 0 else max(1.0, float(ms))


def usual_per_s(sampled: Mapping[str, Any], name: str) -> float:
    """How many tasks of a name came per second in the fullest of some earlier minutes."""
    return float((sampled.get("usual") or {}).get(name, (-1, 0))[1]) / 60


def _by_word(fields: Mapping[str, int]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for field, count in fields.items():
        word, _, name = field.partition("|")
        if word not in found:
            found[word] = {}
        if count > 0:
            found[word][name] = count
    return found


def _sum(counts: Mapping[str, int], before: Mapping[str, int]) -> dict[str, int]:
    found = dict(counts)
    for name, count in before.items():
        found[name] = found.get(name, 0) + count
    return found


def _less(counts: Mapping[str, int], before: Mapping[str, int]) -> dict[str, int]:
    return {name: more for name, count in counts.items() if (more := count - before.get(name, 0)) > 0}
