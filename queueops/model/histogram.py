"""Latency histogram: maps a duration to a bucket, and computes percentiles from a set of buckets.

The buckets are logarithmic, two per octave, from an eighth of a millisecond to about a day. A percentile read from them
is off by less than a fifth. A counter is only a field name and a number.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from functools import partial
from itertools import accumulate

BOUNDS: tuple[float, ...] = tuple(2 ** (step / 2) for step in range(-6, 54))
"""Upper bound of each bucket in milliseconds; one more bucket holds values over the last bound."""

BUCKETS = len(BOUNDS) + 1


bucket: Callable[[float], int] = partial(bisect_left, BOUNDS)
"""The number of the bucket for a duration in milliseconds."""


def percentile(counts: Mapping[int, int], q: float) -> float | None:
    """The ``q`` quantile (0..1) in milliseconds of a histogram ``{bucket: count}``, or None if it is empty.

    Values are assumed to be spread evenly within a bucket; the last bucket gives its lower bound.
    """
    return percentiles(counts, q)[0]


def percentiles(counts: Mapping[int, int], *quantiles: float) -> list[float | None]:
    """Several quantiles of a histogram, as `percentile` has them: its buckets are put in order once."""
    known = sorted([each for each in counts.items() if each[1] > 0])
    if not known:
        return [None] * len(quantiles)
    ends = list(accumulate([count for _, count in known]))
    found = list[float | None]()
    for q in quantiles:
        rank = max(0.0, min(1.0, q)) * ends[-1]
        at = bisect_left(ends, rank)
        number, count = known[at]
        found.append(_within(number, (rank - ends[at] + count) / count))
    return found


def mean(counts: Mapping[int, int]) -> float | None:
    """The mean in milliseconds of a histogram ``{bucket: count}``, from the middles of its buckets; None if empty."""
    total = sum(counts.values())
    if total <= 0:
        return None
    return sum(_within(number, 0.5) * count for number, count in counts.items()) / total


def _within(number: int, share: float) -> float:
    if number >= len(BOUNDS):
        return BOUNDS[-1]
    low = BOUNDS[number - 1] if number else 0.0
    return low + (BOUNDS[number] - low) * share
