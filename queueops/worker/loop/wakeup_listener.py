"""Wake-up listener: receives a pool's wake-up tokens, and connects again after each disconnection.

A lost connection never stops the worker: it then finds work by polling.
"""

from __future__ import annotations

import logging
import selectors
import time
from collections import deque
from collections.abc import Callable
from functools import partial

from queueops.model.contracts import Lease
from queueops.model.ports import Waker

RETRY_AFTER = 1.0
logger = logging.getLogger("queueops.worker")


class WakeupListener:
    """Registers a pool's waker with the selector. Without a waker, the loop polls, with more delay."""

    def __init__(
        self,
        connect: Callable[[], Waker],
        selector: selectors.BaseSelector,
        pool: str,
        take: Callable[[str | Lease], None],
        call: Callable[[str, Callable[[], object]], bool] | None = None,
    ) -> None:
        """``call`` runs a call in another thread, for pools whose unresponsive server must not delay the loop."""
        self._connect = connect
        self._call = call
        self._made: deque[Waker] = deque()
        self._selector = selector
        self._pool = pool
        self._take = take
        self._waker: Waker | None = None
        self._reader: Callable[[], None] = lambda: None
        self._armed = False
        self._descriptor = -1
        self._retry_at = 0.0
        self.check_at = 0.0
        """When `check` has something to do: to connect, or to give up a server that does not answer."""

    @property
    def stands(self) -> bool:
        """Whether tokens can arrive."""
        return self._waker is not None

    def check(self) -> bool:
        """Connect; True if connected now: work may be waiting.

        A connection on which the server does not answer in time is lost.
        """
        if self._waker is not None:
            self._cut(TimeoutError("the server did not answer"))
        if not self._made:
            self.check_at = self._retry_at = time.monotonic() + RETRY_AFTER
            if self._call is None:
                self._make()
            else:
                self._call("wake-up line", self._make)
        if not self._made:
            return False
        waker = self._made.popleft()
        self._waker, self._descriptor, self._armed = waker, waker.fileno(), True
        self.check_at = time.monotonic() + waker.patience_s
        self._reader = partial(self._read, waker)
        self._selector.register(self._descriptor, selectors.EVENT_READ, self._reader)
        return True

    def _make(self) -> None:
        try:
            self._made.append(self._connect())
            self.check_at = 0.0
        except Exception as error:  # any error of the connection; the round trips report outages
            logger.debug("No wake-up connection to pool %s: %s", self._pool, error)

    def arm(self) -> None:
        """Wait for the next token.

        The loop calls it after the turn's round trips, so that it does not delay the previous token's task.
        """
        if self._waker is None or self._armed:
            return
        try:
            self._waker.arm()
            self._armed = True
            self.check_at = time.monotonic() + self._waker.patience_s
        except Exception as error:  # any error of the connection, which is then made again
            self._cut(error)

    def move(self, selector: selectors.BaseSelector) -> None:
        """Move the connection to this selector, which watches it from now on."""
        if self._waker is not None:
            self._selector.unregister(self._descriptor)
            selector.register(self._descriptor, selectors.EVENT_READ, self._reader)
        self._selector = selector

    def close(self) -> None:
        """Close the connection."""
        while self._made:
            self._made.popleft().close()
        if self._waker is None:
            return
        self._selector.unregister(self._descriptor)
        waker, self._waker = self._waker, None
        waker.close()

    def _read(self, waker: Waker) -> None:
        """Pass on the tokens that have arrived.

        A lost connection gives ``work``, because tokens may be lost with it.
        """
        if self._waker is not waker:  # replaced after a disconnection: this event belongs to the old connection
            return
        try:
            tokens = list(waker.read())
            self._armed, self.check_at = False, float("inf")
        except Exception as error:  # any error of the connection, which is then made again
            self._cut(error)
            return
        for token in tokens:
            self._take(token)

    def _cut(self, error: Exception) -> None:
        logger.debug("The wake-up connection to pool %s was lost: %s", self._pool, error)
        self.close()
        self.check_at = self._retry_at
        self._take("work")
