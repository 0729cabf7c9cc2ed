from __future__ import annotations

from queueops.inspect.spans import clock, span
from tests.support.for_each import for_each


@for_each(
    ("ms", "words"),
    [
        (-5, "0 ms"),
        (340, "340 ms"),
        (4200, "4.2 s"),
        (5003, "5 s"),
        (37_400, "37 s"),
        (720_000, "12 min"),
        (12_600_000, "3.5 h"),
        (345_600_000, "4 d"),
    ],
)
def test_a_span_is_told_in_about_two_figures(ms: float, words: str) -> None:
    assert span(ms) == words


def test_a_time_is_told_in_utc_and_nonsense_not_at_all() -> None:
    assert clock(1_795_178_229_295) == "2026-11-20 12:37:09Z"
    assert clock(10**30) == ""
