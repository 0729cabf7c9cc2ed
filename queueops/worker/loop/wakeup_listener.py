"""A pool's wake-up line to this process: made again when it is lost, and never a reason to stop."""

from __future__ import annotations

import logging
import selectors
import time
from collections import deque
from collections.abc import Callable
from functools import partial

from queueops.model.contracts import Lease, Waker

RETRY_AFTER = 1.0
logger = logging.getLogger("queueops.worker")


class WakeupListener:
    """Registers a pool's waker with the selector. Without one, the loop comes by itself, only later."""

    def __init__(
        self,
        connect: Callable[[], Waker],
        selector: selectors.BaseSelector,
        pool: str,
        take: Callable[[str | Lease], None],
        call: Callable[[str, Callable[[], object]], bool] | None = None,
    ) -> None:
        """``call`` makes a call in another thread, where a server that does not answer must not hold up the loop."""
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

    @property
    def stands(self) -> bool:
        """Whether tokens can come."""
        return self._waker is not None

    @property
    def retry_at(self) -> float:
        """When ``check`` has something to do; infinite while the line stands."""
        return float("inf") if self._waker is not None else self._retry_at

    def check(self, now: float) -> bool:
        """Make the line if there is none and it is time to; True when it was made now, so that work may be waiting."""
        if self._waker is not None or (now < self._retry_at and not self._made):
            return False
        if not self._made:
            self._retry_at = time.monotonic() + RETRY_AFTER
            if self._call is None:
                self._make()
            else:
                self._call("wake-up line", self._make)
        if not self._made:
            return False
        waker = self._made.popleft()
        self._waker, self._descriptor, self._armed = waker, waker.fileno(), True
        self._reader = partial(self._read, waker)
        self._selector.register(self._descriptor, selectors.EVENT_READ, self._reader)
        return True

    def _make(self) -> None:
        try:
            self._made.append(self._connect())
        except Exception as error:  # any error of the connection: the exchange tells of outages
            logger.debug("No wake-up line to pool %s: %s", self._pool, error)

    def arm(self) -> None:
        """Wait for the next token, after the last one was acted on: that work must not be delayed."""
        if self._waker is None or self._armed:
            return
        try:
            self._waker.arm()
            self._armed = True
        except Exception as error:  # the same
            self._cut(error)

    def move(self, selector: selectors.BaseSelector) -> None:
        """From now on this selector watches the line."""
        if self._waker is not None:
            self._selector.unregister(self._descriptor)
            selector.register(self._descriptor, selectors.EVENT_READ, self._reader)
        self._selector = selector

    def close(self) -> None:
        """Hang up."""
        while self._made:
            self._made.popleft().close()
        if self._waker is None:
            return
        self._selector.unregister(self._descriptor)
        waker, self._waker = self._waker, None
        waker.close()

    def _read(self, waker: Waker) -> None:
        """Hand over the tokens that have come; a line that was cut gives ``work``, for some may have been lost."""
        if self._waker is not waker:  # it was cut since, and made again: nothing has come on the new one
            return
        try:
            tokens = list(waker.read())
            self._armed = False
        except Exception as error:  # the same
            self._cut(error)
            return
        for token in tokens:
            self._take(token)

    def _cut(self, error: Exception) -> None:
        logger.debug("The wake-up line to pool %s was cut: %s", self._pool, error)
        self.close()
        self._take("work")
