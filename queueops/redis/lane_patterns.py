"""Lane patterns: a lane gets the limits of the settings' pattern before its first task is pushed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from queueops import conf
from queueops.model.contracts import Push

AGAIN_AFTER = 60.0
"""Seconds until a lane gets its limits again: the store may have lost them meanwhile."""
MOST = 10_000
"""How many lanes are remembered."""

Declare = Callable[[str, str, conf.LaneSettings], None]


class LanePatterns:
    """The limits that this process has given to lanes. A pool without patterns costs one dict lookup."""

    def __init__(self, settings: conf.Settings, declare: Declare) -> None:
        self.pools = {name: pool for name, pool in settings.pools.items() if pool.lane_patterns}
        self._declare = declare
        self._declared: dict[tuple[str, str], float] = {}

    def prepare_for(self, pool: str, pushes: Iterable[Push]) -> None:
        """Called before these tasks are put into their lanes. Raises what a store call raises."""
        if pool in self.pools:
            self.prepare(pool, {push.lane for push in pushes})

    def prepare(self, pool: str, lanes: Iterable[str]) -> None:
        """Called before tasks are put into these lanes."""
        settings, now = self.pools.get(pool), time.monotonic()
        for lane in lanes if settings is not None else ():
            wanted = settings.pattern_of(lane) if settings is not None else None
            if wanted is not None and self._declared.get((pool, lane), 0.0) <= now:
                self._declare(pool, lane, wanted)
                if len(self._declared) >= MOST:
                    self._declared.clear()
                self._declared[pool, lane] = now + AGAIN_AFTER

    def has_any(self, pool: str) -> bool:
        """Whether a pool has patterns."""
        return pool in self.pools
