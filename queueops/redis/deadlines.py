"""Bounds on the time that a call waits for the store's answer.

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
"""So long a call of the main thread may still take once the process was told to end."""

LEAST_S = 2.0
"""So long any call has for its answer, however little its caller would wait: a busy machine needs some."""

_mine = threading.local()


class Waiting:
    """Around what waits for Redis: here, and nowhere else, the main thread may be interrupted by `run_out`."""

    __slots__ = ()

    def __enter__(self) -> None:
        _mine.since = time.monotonic()

    def __exit__(self, *error: object) -> None:
        _mine.since = None


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Calls of scripts that this thread makes in here end within so many seconds, and those of LEAST_S."""
    _mine.until = time.monotonic() + max(LEAST_S, seconds)
    try:
        yield
    finally:
        _mine.until = None


def left() -> float | None:
    """Seconds that this thread's calls have left; None without a limit."""
    until = getattr(_mine, "until", None)
    return None if until is None else max(0.01, until - time.monotonic())


def run_out() -> None:
    """The process is to end: calls of the main thread that get no answer are cut. Safe in a signal handler there."""
    _mine.ending = True
    signal.signal(signal.SIGALRM, _cut)
    signal.setitimer(signal.ITIMER_REAL, CUT_AFTER_S, CUT_AFTER_S / 4)


def end() -> None:
    """No call is made any more: an alarm that came while the process goes down would kill it."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def has_run_out() -> bool:
    """Whether a call of this thread that failed is not to be made again."""
    return getattr(_mine, "ending", False)


def _cut(number: int, frame: FrameType | None) -> None:
    since = getattr(_mine, "since", None)
    if since is not None and time.monotonic() - since >= CUT_AFTER_S:
        raise TimeoutError("there was no answer, and this process is to end")
