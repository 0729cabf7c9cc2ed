"""A pipe that wakes a thread that selects: rung by other threads and by signals, from anywhere, any number of times."""

from __future__ import annotations

import os
import select


class SelfPipe:
    """Ring it to end the other side's ``select``; ringing twice before it is answered is one ring."""

    def __init__(self) -> None:
        self._reader, self.writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self.writer, False)

    def fileno(self) -> int:
        """The descriptor to select on."""
        return self._reader

    def ring(self) -> None:
        """Wake the waiting thread. Safe in signal handlers and in any thread."""
        try:
            os.write(self.writer, b"\0")
        except BlockingIOError:
            return  # full: it rings already

    def answer(self) -> None:
        """Take all rings that have come."""
        try:
            os.read(self._reader, 65536)
        except BlockingIOError:
            return

    def wait(self, seconds: float) -> None:
        """Sleep until it rings, at most so long."""
        if select.select([self._reader], [], [], max(0.0, seconds))[0]:
            self.answer()

    def close(self) -> None:
        """Give the descriptors back."""
        os.close(self._reader)
        os.close(self.writer)
