"""Self-pipe: wakes the loop's select from threads and signal handlers."""

from __future__ import annotations

import os
import select


class SelfPipe:
    """A pipe whose ``ring`` ends the other side's ``select``; several calls before ``answer`` count as one."""

    def __init__(self) -> None:
        self._reader, self.writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self.writer, False)

    def fileno(self) -> int:
        """The descriptor to select on."""
        return self._reader

    def ring(self) -> None:
        """Wake the waiting thread. Safe in signal handlers and in every thread."""
        try:
            os.write(self.writer, b"\0")
        except BlockingIOError:
            return  # full: the wake-up is already pending

    def answer(self) -> None:
        """Read all pending wake-ups."""
        try:
            os.read(self._reader, 65536)
        except BlockingIOError:
            return

    def wait(self, seconds: float) -> None:
        """Sleep until a wake-up, at most this many seconds."""
        if select.select([self._reader], [], [], max(0.0, seconds))[0]:
            self.answer()

    def close(self) -> None:
        """Close the descriptors."""
        os.close(self._reader)
        os.close(self.writer)
