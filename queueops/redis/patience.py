"""How long a call may wait for its answer: a process that was told to end does not wait for a store that is silent."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType

from redis.exceptions import TimeoutError

CUT_AFTER_S = 1.0
"""So long a call of the main thread may still take once the process was told to end."""

_mine = threading.local()


class Waiting:
    """Around what waits for Redis: here, and nowhere else, the main thread may be interrupted by `run_out`."""

    __slots__ = ()

    def __enter__(self) -> None:
        _mine.since = time.monotonic()

    def __exit__(self, *error: object) -> None:
        _mine.since = None


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
