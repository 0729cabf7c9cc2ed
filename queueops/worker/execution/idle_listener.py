"""Idle listener: an idle worker thread reads wake-up tokens while the main loop sleeps.

A task that is handed to this process starts in the thread that read its token, without another thread switch.
"""

from __future__ import annotations

import selectors
from collections.abc import Callable, Iterable
from typing import Protocol

from queueops.worker.self_pipe import SelfPipe

Events = list[tuple[selectors.SelectorKey, int]]
"""What arrived, as a selector tells it: the data of each key is the callback that handles it."""


class Line(Protocol):
    """A wake-up listener of the main loop."""

    def move(self, selector: selectors.BaseSelector) -> None:
        """Move the connection to this selector, which watches it from now on."""


class IdleListener:
    """Watches the wake-up listeners in an idle thread. The thread calls ``wait``, any thread ``recall``.

    The thread that makes the loop's turn calls everything else.
    """

    def __init__(self, home: selectors.BaseSelector, heed: Callable[[Events], None]) -> None:
        """``home`` is the main loop's selector; ``heed`` handles what arrived, see `Loop`."""
        self.heed = heed
        self.manned = False
        """Whether a thread watches. Without one, the listeners stay here until `bring_home`."""
        self._home = home
        self._lines: list[Line] = []
        self._self_pipe = SelfPipe()
        self._selector = selectors.DefaultSelector()
        self.wait: Callable[[], Events] = self._selector.select
        """Sleeps until something arrives."""
        self._selector.register(self._self_pipe, selectors.EVENT_READ, self._recalled)

    def man(self, lines: Iterable[Line]) -> None:
        """Watch these wake-up listeners here from now on."""
        self.manned = True
        self._self_pipe.answer()
        if not self._lines:
            self._lines = list(lines)
            for line in self._lines:
                line.move(self._selector)

    def bring_home(self) -> None:
        """Return the wake-up listeners to the main loop, if no thread watches them here."""
        if not self.manned:
            for line in self._lines:
                line.move(self._home)
            self._lines = []

    def recall(self) -> None:
        """Wake the waiting thread, which is needed elsewhere. Called in any thread."""
        self._self_pipe.ring()

    def close(self) -> None:
        """Close the descriptors, when no thread waits here any more."""
        self._selector.close()
        self._self_pipe.close()

    def _recalled(self) -> None:
        self._self_pipe.answer()
        self.manned = False
