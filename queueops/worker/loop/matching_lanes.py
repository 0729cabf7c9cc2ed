"""Matching lanes: the patterns of lanes that a worker serves, and the lanes in which it has found tasks.

Where thousands of lanes are ready, to compare all of them with the patterns takes the store some milliseconds. Then a
round trip looks at the lanes that are known to match, and once a second at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from queueops.model.contracts import Lease

MOST = 200
LOOK_EVERY = 1.0


class MatchingLanes:
    """The lanes of one worker in one pool. Without patterns and kinds it serves all, and remembers none."""

    def __init__(self, patterns: tuple[str, ...], kinds: tuple[str, ...] = ()) -> None:
        self.patterns, self.kinds = patterns, kinds
        self._met: dict[str, None] = {}
        self._look_at = 0.0

    def met(self, now: float) -> Collection[str]:
        """The lanes at which to look; empty: at all."""
        if now < self._look_at:
            return self._met
        self._look_at = now + LOOK_EVERY
        return ()

    def take(self, leases: Iterable[Lease]) -> None:
        """Remember the lanes of these leases, the latest at the end."""
        if not (self.patterns or self.kinds):
            return
        for lease in leases:
            self._met.pop(lease.lane, None)
            self._met[lease.lane] = None
        while len(self._met) > MOST:
            del self._met[next(iter(self._met))]
