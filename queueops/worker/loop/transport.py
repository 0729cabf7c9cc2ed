"""Transport: round trips between a worker process and one pool, with a back-off and resending in an outage.

A failed round trip goes back to its sender, which sends its outcomes again.
"""

from __future__ import annotations

import logging
import random
import time
from collections import deque
from collections.abc import Callable, Collection
from functools import partial

from queueops.errors import QueueOpsError
from queueops.errors.refusals import LibraryRefused
from queueops.model.contracts import Exchange, RoundTrip
from queueops.model.ports import Broker, Exchanges
from queueops.worker.loop.pool_thread import PoolThread

MIN_BACKOFF, MAX_BACKOFF = 0.1, 1.0
SLOW_AFTER = 0.05
"""Seconds after which a reply is overdue; its reserved room may then be used by other pools."""

logger = logging.getLogger("queueops.worker")


class PendingTrip(RoundTrip, frozen=True, kw_only=True):
    """A round trip that is under way. ``at`` is the moment of the monotonic clock at which it was sent.

    With ``recovers``, the store first takes back the leases that it lists for this process, and that the process does
    not hold.
    """

    at: float
    recovers: bool = False


class Transport:
    """Sends round trips and receives their replies, in order. The back-off grows with each failure.

    With a ``thread``, the calls are made there. `send` then returns at once, and `has_answer` says when to call
    `receive`.
    """

    def __init__(
        self, pool: str, worker: str, broker: Broker, thread: PoolThread | None = None, *, pipelined: bool = False
    ) -> None:
        self.retry_at = 0.0
        self.failures = 0
        self.is_reachable = thread is None
        """Whether to wait for tokens there: a thread that connects for them cannot make round trips meanwhile."""
        self._has_worked = False
        self.is_refused = False
        self.under_way: deque[PendingTrip] = deque()
        self.thread = thread
        self._pool = pool
        self._worker = worker
        self._broker = broker
        self._pipelined = pipelined
        self._line: Exchanges | None = None
        self._answers: deque[Exchange | Exception] = deque()
        self._skips = False  # set by the thread: a round trip failed, and the queued ones are skipped
        self._chores: set[str] = set()

    def send(self, trip: PendingTrip, known: Collection[tuple[str, int]]) -> Exception | None:
        """Send; return the error if that failed.

        ``known`` holds each (id, fence) of this process. After a failure, the reply with new leases may be lost. The
        store takes back all leases that are not in ``known``.
        """
        self.under_way.append(trip)
        if self.thread is not None:
            self.thread.call(partial(self._make_round_trip, trip, known))
            return None
        try:
            self._send(trip, known)
        except Exception as error:  # the loop survives every error of a round trip
            return self._failed(error)
        return None

    def receive(self) -> tuple[PendingTrip, Exchange] | Exception:
        """Return the oldest pending round trip and its reply, or the error if it failed."""
        try:
            reply = (self._line or self._open()).receive() if self.thread is None else self._answers.popleft()
        except Exception as error:  # the loop survives every error of a round trip
            reply = error
        if isinstance(reply, Exception):
            return self._failed(reply)
        if self.failures:
            logger.info("Pool %s works again after %d attempts", self._pool, self.failures)
            self.failures, self.retry_at, self.is_refused = 0, 0.0, False
        self.is_reachable = self._has_worked = True
        return self.under_way.popleft(), reply

    def has_answer(self, leave: int = 0) -> bool:
        """Whether to call ``receive``.

        Without a thread: whether more than ``leave`` replies are pending. ``receive`` then waits for the oldest one.
        """
        return len(self.under_way) > leave if self.thread is None else bool(self._answers)

    def accepts(self, *, flows: bool) -> bool:
        """Whether a round trip may be sent now. With ``flows``, a process without siblings may have two pending."""
        return self.thread is None or len(self.under_way) < (2 if flows and self._pipelined else 1)

    def is_slow(self, now: float) -> bool:
        """Whether a reply is overdue. Other pools may then use the room that was reserved for its tasks."""
        waits = self.thread is not None and bool(self.under_way)
        return waits and (self.failures > 0 or now >= self.slow_at)

    @property
    def slow_at(self) -> float:
        """When the pending reply becomes overdue; infinite if none is pending."""
        return self.under_way[0].at + SLOW_AFTER if self.thread is not None and self.under_way else float("inf")

    def call(self, name: str, call: Callable[[], object]) -> bool:
        """Make a call that is not a round trip; return whether to continue. A pending call is not queued twice.

        Without a thread, the result is that of the call; None counts as True.
        """
        if self.thread is None:
            return call() is not False
        if name not in self._chores:
            self._chores.add(name)
            self.thread.call(partial(self._do, name, call))
        return True

    def take_back(self) -> list[PendingTrip]:
        """Remove and return the failed round trips."""
        trips = list(self.under_way)
        self.under_way.clear()
        return trips

    def close(self, seconds: float = 0.0) -> None:
        """Close the connection; the thread has this many seconds for its queued calls."""
        if self.thread is not None:
            self.thread.close(seconds)
        self._hang_up()

    def _hang_up(self) -> None:
        if self._line is not None:
            line, self._line = self._line, None
            line.close()

    def _open(self) -> Exchanges:
        if self._line is None:
            self._broker.declare_lanes(self._pool)
            self._line = self._broker.exchanges(self._pool, self._worker)
        return self._line

    def _send(self, trip: PendingTrip, known: Collection[tuple[str, int]]) -> None:
        if trip.recovers:
            self._broker.recover(self._pool, self._worker, {}, known)
        (self._line or self._open()).send(trip)

    def _failed(self, error: Exception) -> Exception:
        """Note the failure, and return the error. A refused library is raised if no round trip has worked yet.

        A later refusal is logged once, even within an outage: another server was started then.
        """
        if self.thread is None:
            self._hang_up()
        if isinstance(error, LibraryRefused) and not self._has_worked:
            raise error
        self.is_reachable, was_refused = self.thread is None, self.is_refused
        self.is_refused = isinstance(error, LibraryRefused)
        if self.is_refused and not was_refused:
            logger.critical("Pool %s: no task is claimed and no outcome is stored until this is mended: %s"
                            " The worker keeps the outcomes of its tasks, and tries again every %g s.",
                            self._pool, error, MAX_BACKOFF)  # fmt: skip
        elif not self.failures:
            known = isinstance(error, QueueOpsError)
            logger.error("Pool %s: a round trip failed, and is tried until it works: %s",
                         self._pool, error, exc_info=None if known else error)  # fmt: skip
        delay = min(MAX_BACKOFF, MIN_BACKOFF * 2.0 ** min(self.failures, 10))
        self.failures += 1
        self.retry_at = time.monotonic() + delay * random.uniform(0.5, 1.0)
        return error

    # In the thread

    def _make_round_trip(self, trip: PendingTrip, known: Collection[tuple[str, int]]) -> None:
        """Send a round trip and receive its reply. After a failed round trip, the queued ones are skipped."""
        if self._skips and not trip.recovers:
            return
        self._skips = False
        try:
            self._send(trip, known)
            answer: Exchange | Exception = self._open().receive()
        except Exception as error:  # any error: the loop gets it as the reply
            self._skips = True
            self._hang_up()
            answer = error
        self._answers.append(answer)

    def _do(self, name: str, call: Callable[[], object]) -> None:
        try:
            call()
        finally:
            self._chores.discard(name)
