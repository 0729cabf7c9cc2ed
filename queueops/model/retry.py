"""Retry policy: how long a task waits before its next attempt."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from functools import lru_cache

from queueops.errors import BadOption
from queueops.model.durations import to_ms


class Growth(StrEnum):
    """How the delays grow from attempt to attempt."""

    EXPONENTIAL = "exponential"
    LINEAR = "linear"


@dataclass(frozen=True, slots=True)
class Retry:
    """The back-off: the first delay, the multiplier of each next one, their limit, and the random share.

    With `growth="linear"` the delay is the first one times the number of the attempt, and `backoff` has no effect.

    `delay` and `max_delay` are seconds or a `timedelta`. With `jitter=0.1` a delay of 60 s becomes 54 to 66 s. So
    tasks that failed together do not come back together. Jitter is 0 (none) to 1. The number of attempts is set by the
    task's `retries`.
    """

    delay: float | timedelta = 60
    backoff: float = 2
    max_delay: float | timedelta = 3600
    jitter: float = 0.1
    growth: str = Growth.EXPONENTIAL

    def __repr__(self) -> str:
        grows = f", growth={str(self.growth)!r}" if self.growth != Growth.EXPONENTIAL else ""
        values = (self.delay, self.backoff, self.max_delay, self.jitter)
        return "Retry(delay={!r}, backoff={!r}, max_delay={!r}, jitter={!r}{})".format(*values, grows)

    def __post_init__(self) -> None:
        to_ms("delay", self.delay)
        to_ms("max_delay", self.max_delay)
        if not _is_number(self.backoff) or not 1 <= self.backoff <= 1000:
            raise BadOption(name="backoff", value=self.backoff, expected="a number from 1 to 1000")
        if not _is_number(self.jitter) or not 0 <= self.jitter <= 1:
            raise BadOption(name="jitter", value=self.jitter, expected="a number from 0 to 1")
        if self.growth not in tuple(Growth):
            raise BadOption(name="growth", value=self.growth, expected=f"one of {', '.join(Growth)}")

    def delay_ms(self, attempt: int, chance: Callable[[], float] = random.random) -> int:
        """The delay after attempt number `attempt` (from 1) has failed; `chance` returns numbers from 0 to 1."""
        first, most = to_ms("delay", self.delay), to_ms("max_delay", self.max_delay)
        if self.growth == Growth.LINEAR:
            return self._spread(min(most, first * attempt), most, chance)
        try:
            plain = min(float(most), first * float(self.backoff) ** (attempt - 1))
        except OverflowError:
            plain = float(most)
        return self._spread(plain, most, chance)

    def _spread(self, plain: float, most: int, chance: Callable[[], float]) -> int:
        return max(0, round(min(float(most), plain * (1 + self.jitter * (2 * chance() - 1)))))

    def text(self) -> str:
        """The policy as stored in the record; empty for the default policy."""
        return "" if self == DEFAULT else self.explicit()

    def explicit(self) -> str:
        """The same, also for the default policy."""
        first, most = to_ms("delay", self.delay), to_ms("max_delay", self.max_delay)
        factor = Growth.LINEAR if self.growth == Growth.LINEAR else f"{self.backoff:g}"
        return f"{first}:{factor}:{most}:{self.jitter:g}"


@lru_cache(maxsize=1024)
def parse(text: str) -> Retry:
    """Parse a policy that `text()` stored; the default policy if the text is empty or unreadable."""
    try:
        first, backoff, most, jitter = text.split(":")
        if backoff == Growth.LINEAR:
            return Retry(int(first) / 1000, max_delay=int(most) / 1000, jitter=float(jitter), growth=Growth.LINEAR)
        return Retry(int(first) / 1000, float(backoff), int(most) / 1000, float(jitter))
    except ValueError:  # BadOption is one too: a record that was edited by hand must not stop a worker
        return DEFAULT


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


DEFAULT = Retry()
