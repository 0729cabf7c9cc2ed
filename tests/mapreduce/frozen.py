"""A worker that takes work and is not heard of again, until it comes back too late."""

from __future__ import annotations

from queueops.model.contracts import Lease, Outcome, RoundTrip, Settlement
from queueops.redis.broker import get_broker
from tests.kernel.desk import POOL, Desk

FROZEN = "frozen"


class Frozen:
    """What it holds is taken from it as soon as its lease has ended; then any other worker may run it."""

    def __init__(self) -> None:
        self._desk = Desk(get_broker())
        self.lease: Lease = self._desk.lease(FROZEN)
        self._lose()

    def comes_back(self, value: bytes = b'"too late"') -> str:
        """Send the outcome; the word that is answered."""
        end = Settlement(self.lease.id, self.lease.fence, Outcome.SUCCESS, value)
        return get_broker().exchange(POOL, FROZEN, RoundTrip(settle=[end])).settled[0]

    def _lose(self) -> None:
        for _ in ("its lease ends", "the pause after a crash ends"):
            self._desk.make_due(self.lease.id)
            self._desk.tick()
