from __future__ import annotations

from collections import Counter

import pytest

from queueops.model.histogram import BOUNDS, BUCKETS, bucket, percentile
from tests.support.for_each import for_each


@for_each("ms", [0.0, 0.05, 0.125, 0.126, 1.0, 999.0, 86_400_000.0, 1e15])
def test_each_duration_has_a_bucket_and_lies_within_its_bounds(ms: float) -> None:
    number = bucket(ms)
    assert 0 <= number < BUCKETS
    assert number == 0 or BOUNDS[number - 1] < ms
    assert number == len(BOUNDS) or ms <= BOUNDS[number]


def test_a_percentile_is_off_by_less_than_a_fifth() -> None:
    values = [1.1**step for step in range(1, 150)]
    counts = Counter(bucket(value) for value in values)
    for q in (0.1, 0.5, 0.95, 0.99):
        assert percentile(counts, q) == pytest.approx(values[int(q * len(values))], rel=0.2)


def test_an_empty_histogram_has_no_percentile() -> None:
    assert percentile({}, 0.5) is None
    assert percentile({3: 0}, 0.5) is None


def test_what_is_over_the_last_bound_is_told_as_that_bound() -> None:
    assert percentile({BUCKETS - 1: 5}, 0.99) == BOUNDS[-1]
