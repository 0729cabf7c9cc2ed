"""Parent-death detection: a pipe that tells child processes that their supervisor has ended, however it died."""

from __future__ import annotations

import os


class ParentWatch:
    """A pipe whose write end only the supervisor holds. It writes nothing; its death closes the pipe."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()

    def fileno(self) -> int:
        """The descriptor on which a child selects; it becomes readable when the supervisor has ended."""
        return self._reader

    def keep_reader(self) -> None:
        """Called in the child: closes the write end, which only the supervisor may hold."""
        os.close(self._writer)

    def close(self) -> None:
        """Called by the supervisor at its orderly end."""
        os.close(self._writer)
        os.close(self._reader)
