"""Signals of a process as counts, with a bell that rings at each: the handlers themselves do nothing else."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable
from types import FrameType

from queueops.worker.loop.self_pipe import SelfPipe

END = (signal.SIGTERM, signal.SIGINT)
HANG_UP = signal.SIGHUP
"""Its terminal was closed: as END, but one with it: a shell says it again to its jobs. Under `nohup` it is ignored."""
AT_ONCE = signal.SIGQUIT
"""What a supervisor sends when its children are to release their tasks and end at once."""
_HELD = (*END, HANG_UP, AT_ONCE)
PING = signal.SIGURG
"""What a supervisor sends to a process that is late: the handler is a sign of life. By default it is ignored."""


class CaughtSignals:
    """Catches signals in the main thread until it is closed."""

    def __init__(
        self,
        bell: SelfPipe,
        *numbers: signal.Signals,
        ignore: tuple[signal.Signals, ...] = (),
        then: Callable[[], object] = lambda: None,
    ) -> None:
        """``then`` is called in the handler, at each signal."""
        self._then = then
        self._counts: Counter[int] = Counter()
        self._previous = {number: signal.signal(number, self._count) for number in numbers}
        self._previous |= {number: signal.signal(number, signal.SIG_IGN) for number in ignore}
        self._wakeup = signal.set_wakeup_fd(bell.writer, warn_on_full_buffer=False)

    def count(self, *numbers: signal.Signals) -> int:
        """How many of these signals have come so far."""
        return sum(self._counts[number] for number in numbers)

    def close(self) -> None:
        """Put back what was there before."""
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _count(self, number: int, frame: FrameType | None) -> None:
        self._counts[number] += 1
        self._then()


def hold_signals() -> None:
    """Before a fork: signals wait, in this process and its child, until `release_signals`."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)


def release_signals() -> None:
    """After a fork: in the parent at once, in a child when it has its own handlers. What waited is delivered now."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD)


def forget_signals() -> None:
    """In a child: signals do again what they do in any process, and no longer ring the parent's bell."""
    signal.set_wakeup_fd(-1)
    for number in (*END, HANG_UP, AT_ONCE, signal.SIGCHLD):
        if not (number == HANG_UP and is_ignored(number)):
            signal.signal(number, signal.SIG_DFL)


def is_ignored(number: signal.Signals) -> bool:
    """Whether the parent process has set this signal to be ignored, as `nohup` does."""
    return signal.getsignal(number) == signal.SIG_IGN
