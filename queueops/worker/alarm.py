"""Alarm: a timer of the kernel that ends a ``select`` at a moment. Setting it wakes no thread, as a pipe would."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable

_ABSOLUTE = 1
"""TFD_TIMER_ABSTIME"""


class _Moment(ctypes.Structure):
    """The ``itimerspec`` of Linux: interval and moment, each in seconds and nanoseconds."""

    _fields_ = (("every_s", ctypes.c_long), ("every_ns", ctypes.c_long), ("s", ctypes.c_long), ("ns", ctypes.c_long))


class Alarm:
    """Readable from the moment on that was set last. Moments are seconds of the monotonic clock.

    Without the timers of Linux, a moment that is set calls ``ring`` at once: the loop then computes its pause again.
    """

    def __init__(self, ring: Callable[[], object]) -> None:
        self._ring = ring
        self._moment = 0.0
        self._descriptor, self._set = _timer()

    @property
    def works(self) -> bool:
        """Whether the descriptor exists."""
        return self._descriptor >= 0

    def fileno(self) -> int:
        """The descriptor to select on."""
        return self._descriptor

    def set(self, moment: float) -> None:
        """Replace the moment. Raises OSError if the descriptor is none any more."""
        self._moment = moment
        if self.works:
            self._set(moment)
        else:
            self._ring()

    def clear(self) -> None:
        """Forget the moment."""
        if self._moment and self.works:
            self._set(0.0)
        self._moment = 0.0

    def answer(self) -> None:
        """Make the descriptor unreadable after its moment."""
        self._moment = 0.0
        try:
            os.read(self._descriptor, 8)
        except BlockingIOError:  # another moment was set since
            return

    def close(self) -> None:
        """Close the descriptor."""
        if self.works:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)


def _timer() -> tuple[int, Callable[[float], object]]:
    """A timer's descriptor, and what sets its moment (0: none); -1 if this system has none."""
    if sys.version_info >= (3, 13) and hasattr(os, "timerfd_create"):
        made = os.timerfd_create(time.CLOCK_MONOTONIC, flags=os.TFD_NONBLOCK | os.TFD_CLOEXEC)
        return made, lambda moment: os.timerfd_settime(made, flags=_ABSOLUTE, initial=moment)
    library = ctypes.PyDLL(None, use_errno=True)  # it keeps the interpreter lock: the calls do not block
    if not (hasattr(library, "timerfd_create") and hasattr(time, "CLOCK_MONOTONIC")):
        return -1, lambda moment: None
    descriptor = _checked(library.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC))

    def set_moment(moment: float) -> None:
        seconds = int(moment)
        at = _Moment(0, 0, seconds, int((moment - seconds) * 1e9))
        _checked(library.timerfd_settime(descriptor, _ABSOLUTE, ctypes.byref(at), None))

    return descriptor, set_moment


def _checked(answer: int) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer
