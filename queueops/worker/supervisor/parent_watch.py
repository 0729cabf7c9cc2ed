"""A pipe that tells the processes of a worker when their supervisor is gone, however it died."""

from __future__ import annotations

import os


class ParentWatch:
    """The supervisor holds the writing end and never writes; its end of life closes it, which the others see."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()

    def fileno(self) -> int:
        """What a child selects on: readable means that the supervisor is gone."""
        return self._reader

    def keep_reader(self) -> None:
        """Called in the child: only the supervisor may hold the writing end."""
        os.close(self._writer)

    def close(self) -> None:
        """Called by the supervisor at its orderly end."""
        os.close(self._writer)
        os.close(self._reader)
