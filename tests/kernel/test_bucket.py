"""The token bucket of `lua/lib/rate_limit.lua`, alone and on a clock of the test's own."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import HealthCheck, given, settings

import queueops.redis
from queueops.redis.client_factory import connect

RATES = (Path(queueops.redis.__file__).parent / "lua" / "lib" / "rate_limit.lua").read_text()
BEFORE = """
local floor, min, max, TIME = math.floor, math.min, math.max
local fresh, lib = {}, { number_of = tonumber }
function lib.text(number) return string.format('%.0f', number) end
"""
AFTER = """
local micros, tat, taken = 1790000000000000, nil, {}
local function bucket_at(time)
  local bucket = {}
  TIME = { floor(time / 1000000), time % 1000000 }
  lib.fill_bucket(bucket, ARGV[1], tat)
  return bucket
end
for i = 2, #ARGV, 2 do
  micros = micros + tonumber(ARGV[i])
  local bucket = bucket_at(micros)
  local count = min(lib.tokens_of(bucket), tonumber(ARGV[i + 1]))
  if lib.tokens_of(bucket) == 0 then
    local at = lib.tokens_at(bucket, 1) * 1000
    if at <= micros then return 'its next token is not in the future' end
    if lib.tokens_of(bucket_at(at)) == 0 then return 'its next token is not there at its time' end
  elseif count > 0 then
    bucket.tat = math.ceil(bucket.tat + count * bucket.period)
    tat = lib.text(bucket.tat)
  end
  taken[#taken + 1] = count
end
return taken
"""
"""Goes through steps (microseconds that pass, tokens that are wanted) and answers how many were there."""

ROUNDED = 1 + Fraction(1, 2**51)
SETTINGS = settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],  # so may the machine be
    derandomize="CI" in os.environ,  # a run that judges a change must judge the same each time
)
rates = st.one_of(st.floats(0.001, 100_000), st.integers(1, 100_000), st.sampled_from([0.1, 1 / 3, 7, 1e5 / 7]))
steps = st.lists(st.tuples(st.integers(0, 3_000_000), st.integers(1, 1000)), min_size=1, max_size=30)


def test_never_more_are_taken_than_the_burst_and_the_rate_and_the_next_is_there_at_its_time(redis_url: str) -> None:
    client = connect(redis_url)
    script = client.register_script(BEFORE + RATES + AFTER)

    @SETTINGS
    @given(rate=rates, steps=steps)
    def holds(rate: float, steps: list[tuple[int, int]]) -> None:
        counts = script(args=[repr(rate), *(number for step in steps for number in step)])
        assert isinstance(counts, list), counts
        assert_within(Fraction(rate), [(passed, count) for (passed, _), count in zip(steps, counts, strict=True)])

    holds()
    client.close()


def assert_within(rate: Fraction, taken: list[tuple[int, int]]) -> None:
    """In any time that begins and ends with a start: no more than the burst and what the rate gives, but for 1 us.

    The time that one start takes is rounded as numbers of the script's are: of 1/3 a second exactly three make one.
    """
    burst = max(1, int(rate))
    for first in range(len(taken)):
        elapsed = total = 0
        for number, (passed, count) in enumerate(taken[first:]):
            elapsed += passed if number else 0
            total += count
            assert total <= burst + rate * ROUNDED * (elapsed + 1) / 1_000_000


def test_a_full_bucket_holds_one_second_of_starts_and_at_least_one(redis_url: str) -> None:
    client = connect(redis_url)
    script = client.register_script(BEFORE + RATES + AFTER)
    for rate, burst in ((0.001, 1), (0.999, 1), (1, 1), (2.9, 2), (60, 60), (100_000, 100_000)):
        assert script(args=[repr(rate), 0, 1_000_000]) == [burst]
        assert script(args=[repr(rate), 0, 1_000_000, 10**12, 1_000_000]) == [burst, burst]
    client.close()
