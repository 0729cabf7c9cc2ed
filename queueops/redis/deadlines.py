"""Call deadlines: limits on the time that a call waits for the store's reply.

A process that was told to end does not wait for a silent store. A caller with a timeout does not wait longer.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from redis.exceptions import TimeoutError

CUT_AFTER_S = 1.0
"""Seconds that a call of the main thread may still take after the process was told to end."""

LEAST_S = 2.0
"""Minimum seconds that every call has for its reply, whatever its caller's timeout: a busy machine needs some."""


class _Mine(threading.local):
    """What counts for the calls of one thread."""

    since: float | None = None
    """Since when the thread waits for Redis. Only while it does, `run_out` may interrupt the main thread."""
    until: float | None = None
    """When the caller's timeout ends."""
    is_ending = False
    """Whether a failed call must not be repeated: the process is to end."""


mine = _Mine()


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Limit the script calls of this thread to this many seconds, but not below LEAST_S."""
    mine.until = time.monotonic() + max(LEAST_S, seconds)
    try:
        yield
    finally:
        mine.until = None


def run_out() -> None:
    """End pending calls of the main thread, because the process is to end. Safe in its signal handlers."""
    mine.is_ending = True
    signal.signal(signal.SIGALRM, _cut)
    signal.setitimer(signal.ITIMER_REAL, CUT_AFTER_S, CUT_AFTER_S / 4)


def end() -> None:
    """Disable the alarm: no call is made any more, and a late alarm would kill the ending process."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def _cut(number: int, frame: FrameType | None) -> None:
    if mine.since is not None and time.monotonic() - mine.since >= CUT_AFTER_S:
        raise TimeoutError("there was no answer, and this process is to end")
