"""What a watchdog and the system checks do for the sample kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from django.core.checks import CheckMessage, Info

CODE_POOL = "rounds-of-the-code"


class RoundCount:
    """Counts in each round the tasks of the kind."""

    doing = "count the rounds of"
    beginning = "begin with the rounds of"

    def __init__(self, broker: Any, *, has_code: bool) -> None:
        """Count through this broker."""
        self._broker, self._has_code = broker, has_code

    def pools(self) -> list[str]:
        """One, if the code is known."""
        return [CODE_POOL] if self._has_code else []

    def begin(self, pool: str) -> None:
        """Register the pool of the code."""
        if pool == CODE_POOL:
            self._broker.announce(pool)

    def act(self, pool: str) -> dict[str, int]:
        """Count."""
        keys = self._broker.keys(pool)
        return {"counted": self._broker.servers.client(pool).zcard(f"{keys.prefix}:kind:sample")}

    def ahead_s(self) -> float:
        """Nothing is due between two rounds."""
        return math.inf

    def due_pools(self) -> list[str]:
        """None."""
        return []

    def within(self, pools: Callable[[], list[str]]) -> RoundCount:
        """The same."""
        return self


def check_rounds() -> list[CheckMessage]:
    """One message."""
    return [Info("rounds are checked", id="sample.I001")]
