"""The way between a worker process and one pool: round trips that are under way, and what becomes of them in an outage.

Nothing that was to be sent is lost: a flight that failed goes back to the one who sent it.
"""

from __future__ import annotations

import logging
import random
import time
from collections import deque
from collections.abc import Collection
from typing import NamedTuple

from queueops.contracts import Broker, Exchange, Exchanges, Extend, Settlement
from queueops.errors import QueueOpsError

MIN_BACKOFF, MAX_BACKOFF = 0.1, 5.0

logger = logging.getLogger("queueops.worker")


class Flight(NamedTuple):
    """What one round trip carries. ``at`` is the moment of the monotonic clock at which it was sent."""

    at: float
    settle: list[Settlement]
    extend: list[Extend]
    metrics: dict[str, int] | None
    want: int
    idle: bool
    take: int = -1


class Courier:
    """Sends flights and brings their replies, in order. After a failure it waits a little longer each time."""

    def __init__(self, pool: str, worker: str, broker: Broker) -> None:
        self.retry_at = 0.0
        self.failures = 0
        self.under_way: deque[Flight] = deque()
        self._pool = pool
        self._worker = worker
        self._broker = broker
        self._line: Exchanges | None = None

    def send(self, flight: Flight, known: Collection[tuple[str, int]]) -> Exception | None:
        """Send; the error when that failed.

        ``known`` are the (id, fence) that we hold: after a failure, what Redis thinks we hold besides came with a reply
        that was lost, and is given back.
        """
        self.under_way.append(flight)
        try:
            if self.failures:
                self._broker.recover(self._pool, self._worker, {}, known)
            self._open().send(
                settle=flight.settle,
                extend=flight.extend,
                want=flight.want,
                idle=flight.idle,
                metrics=flight.metrics,
                take=flight.take,
            )
        except Exception as error:  # the loop lives through everything that a round trip may meet
            return self._failed(error)
        return None

    def receive(self) -> tuple[Flight, Exchange] | Exception:
        """The oldest flight that is under way and its reply, or the error when it failed."""
        try:
            reply = self._open().receive()
        except Exception as error:  # the same
            return self._failed(error)
        if self.failures:
            logger.info("Pool %s works again after %d attempts", self._pool, self.failures)
            self.failures, self.retry_at = 0, 0.0
        return self.under_way.popleft(), reply

    def take_back(self) -> list[Flight]:
        """The flights that failed."""
        flights = list(self.under_way)
        self.under_way.clear()
        return flights

    def close(self) -> None:
        """Hang up."""
        if self._line is not None:
            line, self._line = self._line, None
            line.close()

    def _open(self) -> Exchanges:
        if self._line is None:
            self._broker.declare_lanes(self._pool)
            self._line = self._broker.exchanges(self._pool, self._worker)
        return self._line

    def _failed(self, error: Exception) -> Exception:
        self.close()
        if not self.failures:
            known = isinstance(error, QueueOpsError)
            logger.error("Pool %s: a round trip failed, and is tried until it works: %s",
                         self._pool, error, exc_info=None if known else error)  # fmt: skip
        delay = min(MAX_BACKOFF, MIN_BACKOFF * 2.0 ** min(self.failures, 10))
        self.failures += 1
        self.retry_at = time.monotonic() + delay * random.uniform(0.5, 1.0)
        return error
