"""Signal handling: counts the operating system's signals, wakes the self-pipe, and can make one call in the handler."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable
from types import FrameType

from queueops.worker.self_pipe import SelfPipe

END = (signal.SIGTERM, signal.SIGINT)
HANG_UP = signal.SIGHUP
"""SIGHUP: the terminal was closed. Repeats count once, because a shell sends it again. Ignored under `nohup`."""
AT_ONCE = signal.SIGQUIT
"""SIGQUIT, from the supervisor: the child processes release their tasks and exit at once."""
_HELD = (*END, HANG_UP, AT_ONCE)
DUMP = signal.SIGUSR1
"""SIGUSR1: the supervisor logs the stacks of all its processes. A handler that the project has set is kept."""
PING = signal.SIGURG
"""SIGURG, from the supervisor to a late process: its handler gives a sign of life. It is ignored by default."""


class CaughtSignals:
    """Catches signals in the main thread until ``close``."""

    def __init__(
        self,
        self_pipe: SelfPipe,
        *numbers: signal.Signals,
        ignore: tuple[signal.Signals, ...] = (),
        then: Callable[[int], object] = lambda number: None,
    ) -> None:
        """``then`` is called in the handler, with the number of each signal."""
        self._then = then
        self._counts: Counter[int] = Counter()
        self._previous = {number: signal.signal(number, self._count) for number in numbers}
        self._previous |= {number: signal.signal(number, signal.SIG_IGN) for number in ignore}
        self._wakeup = signal.set_wakeup_fd(self_pipe.writer, warn_on_full_buffer=False)

    def count(self, *numbers: signal.Signals) -> int:
        """How many of these signals have arrived."""
        return sum(map(self._counts.__getitem__, numbers))

    def close(self) -> None:
        """Restore the previous handlers."""
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _count(self, number: int, frame: FrameType | None) -> None:
        self._counts[number] += 1
        self._then(number)


def hold_signals() -> None:
    """Before a fork: blocks signals, in this process and its child, until `release_signals`."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)


def release_signals() -> None:
    """Unblock signals after a fork; pending signals are delivered now.

    The parent calls this at once, a child when it has installed its own handlers.
    """
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD)


def forget_signals() -> None:
    """In a child: restores default signal handling, so that signals no longer wake the parent's self-pipe."""
    signal.set_wakeup_fd(-1)
    for number in (*END, HANG_UP, AT_ONCE, signal.SIGCHLD):
        if not (number == HANG_UP and is_ignored(number)):
            signal.signal(number, signal.SIG_DFL)


def is_default(number: signal.Signals) -> bool:
    """Whether no handler was set for this signal."""
    return signal.getsignal(number) == signal.SIG_DFL


def is_ignored(number: signal.Signals) -> bool:
    """Whether this signal was set to be ignored by the parent process, as `nohup` does."""
    return signal.getsignal(number) == signal.SIG_IGN
