"""How long a task waits before its next attempt."""

from __future__ import annotations

from datetime import timedelta

import pytest

from queueops.errors import BadOption
from queueops.model.retry import DEFAULT, Retry, parse
from tests.support.for_each import for_each


def test_delays_grow_by_the_factor_up_to_the_limit():
    policy = Retry(delay=1, backoff=3, max_delay=10, jitter=0)
    assert [policy.delay_ms(attempt) for attempt in (1, 2, 3, 4, 10_000)] == [1000, 3000, 9000, 10_000, 10_000]


def test_jitter_spreads_by_its_share_and_never_over_the_limit():
    policy = Retry(delay=10, backoff=2, max_delay=20, jitter=0.1)
    assert policy.delay_ms(1, lambda: 0.0) == 9000
    assert policy.delay_ms(1, lambda: 1.0) == 11_000
    assert policy.delay_ms(2, lambda: 1.0) == 20_000


def test_linear_delays_are_the_first_one_times_the_attempt():
    policy = Retry(delay=120, growth="linear", max_delay=500, jitter=0)
    assert [policy.delay_ms(attempt) for attempt in (1, 2, 3, 4, 5, 10_000)] == [
        *(120_000, 240_000, 360_000, 480_000, 500_000, 500_000)
    ]
    assert parse(policy.text()) == policy


def test_the_stored_text_gives_the_policy_back():
    for policy in (DEFAULT, Retry(0), Retry(timedelta(minutes=1), 1.5, 100, 0.5), Retry(0.25, 1, 0.5, 0)):
        same = parse(policy.text())
        assert [same.delay_ms(n, lambda: 0.3) for n in (1, 2, 9)] == [
            policy.delay_ms(n, lambda: 0.3) for n in (1, 2, 9)
        ]
    assert DEFAULT.text() == ""


@for_each("text", ["x", "1:2", "1:2:3:four", "-5:2:3:0", "1:0:3:0", "1:nan:3:0"])
def test_a_text_that_cannot_be_read_means_the_default(text):
    assert parse(text) == DEFAULT


@for_each(
    "options",
    [
        {"delay": -1},
        {"delay": "1"},
        {"backoff": 0.5},
        {"jitter": 2},
        {"max_delay": None},
        {"delay": True},
        {"growth": "x"},
    ],
)
def test_wrong_options_are_refused(options):
    with pytest.raises(BadOption, match=f"The option {next(iter(options))} is"):
        Retry(**options)
