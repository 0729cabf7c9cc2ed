"""Stack file: where a process writes the stacks of its threads, also while a task holds the interpreter's lock.

`faulthandler` writes them in C, in the handler of a signal. So a task that spins in C shows its stack, too. The file
has no name and is shared: supervisor, process and lease keeper have it open from the fork on.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import tempfile
import time

SIGNAL = signal.SIGRTMIN + 5 if hasattr(signal, "SIGRTMIN") else signal.SIGUSR2
"""Asks a process for its stacks. A real-time signal is used by no other library."""
LONGEST = 32_000
"""Bytes of a dump that are kept."""
WITHIN = 2.0
"""Seconds within which a process that runs answers; a stopped one does not."""
QUIET = 0.05


class StackFile:
    """An open file without a name."""

    def __init__(self) -> None:
        """Create it."""
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process lives

    def serve(self) -> None:
        """In the process: write the stacks of all threads at each signal."""
        faulthandler.register(SIGNAL, self._file, all_threads=True, chain=False)

    def write(self) -> str:
        """In the process: the stacks of all threads now."""
        self._clear()
        faulthandler.dump_traceback(self._file, all_threads=True)
        return self._read()

    def ask(self, pid: int) -> str:
        """In another process: the stacks of a process that serves this file; empty if it does not answer."""
        self._clear()
        os.kill(pid, SIGNAL)
        until, size = time.monotonic() + WITHIN, -1
        while time.monotonic() < until and (size <= 0 or size != self._size()):
            size = self._size()
            time.sleep(QUIET)
        return self._read()

    def close(self) -> None:
        """Close it."""
        self._file.close()

    def _size(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def _clear(self) -> None:
        os.ftruncate(self._file.fileno(), 0)
        os.lseek(self._file.fileno(), 0, os.SEEK_SET)  # all processes share the position

    def _read(self) -> str:
        found = os.pread(self._file.fileno(), LONGEST + 1, 0)
        text = found[:LONGEST].decode("utf-8", "replace")
        return f"{text}\n(cut)" if len(found) > LONGEST else text


def allow() -> None:
    """In the supervisor: a child that does not serve a file yet must not end by the signal."""
    signal.signal(SIGNAL, signal.SIG_IGN)
