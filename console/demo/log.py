"""Takes what a process writes into a file that does not grow without end."""

from __future__ import annotations

from pathlib import Path
from threading import Thread
from typing import IO

LIMIT = 2 * 1024 * 1024
LINE = 64 * 1024


class Drain(Thread):
    """Reads a pipe to its end; above `limit` bytes the file becomes `<name>.1`, and a new one begins."""

    def __init__(self, pipe: IO[bytes], path: Path, limit: int = LIMIT) -> None:
        super().__init__(name=f"queueops-demo-{path.name}", daemon=True)
        self._pipe = pipe
        self._path = path
        self._limit = limit

    def run(self) -> None:
        """Copy line by line."""
        file = self._path.open("ab", buffering=0)
        try:
            while line := self._pipe.readline(LINE):
                if file.tell() + len(line) > self._limit:
                    file.close()
                    self._path.replace(self._path.with_name(f"{self._path.name}.1"))
                    file = self._path.open("ab", buffering=0)
                file.write(line)
        finally:
            file.close()
            self._pipe.close()
