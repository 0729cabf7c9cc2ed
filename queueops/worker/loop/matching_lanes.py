"""Matching lanes: the patterns of lanes that a worker serves or leaves alone, and lanes in which it has found tasks.

Where thousands of lanes are ready, to compare all of them with the patterns takes the store some milliseconds. Then a
round trip looks at the lanes that are known to match, and once a second at all.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable

from queueops.model import kinds as known_kinds
from queueops.model.contracts import Lease

MOST = 200
LOOK_EVERY = 1.0
LEFT_ALONE = "^"
"""Before a pattern of lanes that the worker leaves alone."""
Closed = Callable[[str], tuple[str, ...]]
logger = logging.getLogger("queueops.worker")


class MatchingLanes:
    """The lanes of one worker in one pool. Without patterns and kinds it serves all, and remembers none.

    ``closed`` are functions of the pool that give patterns of lanes which it leaves alone for now.
    """

    def __init__(
        self, patterns: tuple[str, ...], kinds: tuple[str, ...] = (), pool: str = "", closed: Iterable[Closed] = ()
    ) -> None:
        self.patterns, self.kinds = patterns, kinds
        self.remembers = bool(patterns or kinds)
        self._pool, self._closed = pool, tuple(closed)
        self._met: dict[str, None] = {}
        self._look_at = 0.0
        self.served = patterns
        """The patterns for a claim: its own, and those of lanes that it leaves alone."""
        self.ask_at = 0.0
        """When a claim is to `ask` again."""

    def ask(self, now: float) -> None:
        """Ask the kinds which lanes it leaves alone for the next second."""
        self.ask_at = now + LOOK_EVERY
        closed = (f"{LEFT_ALONE}{pattern}" for of_kind in self._closed for pattern in self._ask(of_kind))
        self.served = (*self.patterns, *closed)

    def _ask(self, of_kind: Closed) -> tuple[str, ...]:
        try:
            return of_kind(self._pool)
        except Exception:  # such as an error of a storage; the worker serves all lanes then
            logger.debug("The closed lanes of pool %s are unknown", self._pool, exc_info=True)
            return ()

    def met(self, now: float) -> Collection[str]:
        """The lanes at which to look; empty: at all."""
        if now < self._look_at:
            return self._met
        self._look_at = now + LOOK_EVERY
        return ()

    def take(self, leases: Iterable[Lease]) -> None:
        """Remember the lanes of these leases, the latest at the end."""
        if not self.remembers:
            return
        for lease in leases:
            self._met.pop(lease.lane, None)
            self._met[lease.lane] = None
        while len(self._met) > MOST:
            del self._met[next(iter(self._met))]


def closed_by_kinds() -> tuple[Closed, ...]:
    """What the kinds say of lanes that this worker leaves alone."""
    return known_kinds.roles("work.closed")
