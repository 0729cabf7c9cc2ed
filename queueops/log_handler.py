"""Log handler: writes the lines of many threads to a stream, by one write for all that wait.

`logging.StreamHandler` holds a lock while it formats and writes a line. The threads of a busy worker then wait for this
lock most of their time. Here a thread never waits for another one, unless the stream is far behind.

In a worker process, a thread of its own writes the lines in batches (`write_in_batches`): a write of each line would
cost a task a system call, and the interpreter to another thread. Other processes write each line at once.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from itertools import islice
from queue import SimpleQueue
from typing import Any, TextIO
from weakref import WeakSet

MOST_WAITING = 1000
"""Lines that may wait for a slow stream. A thread with another one waits until some are written."""

LONGEST_HOLD_S = 1.0
"""Seconds for which a fork, or the end of the process, waits for the thread that writes."""

BATCH_S = 0.05
"""Seconds between two batches: so many seconds of lines are lost if the process is killed by SIGKILL."""


class LineHandler(logging.StreamHandler[TextIO]):
    """Writes lines to stderr, or to another stream. The order of the lines of a thread stays.

    A thread leaves its line to the thread that writes at that moment, which looks for more lines after each write.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__(stream)
        self._renew()
        _handlers.add(self)

    def handle(self, record: logging.LogRecord) -> Any:
        """Filter and write, without the lock of the handler: formatters and filters of QueueOps keep no state."""
        passed: Any = self.filter(record)  # from Python 3.12 on it may be another record
        if passed:
            self.emit(passed if isinstance(passed, logging.LogRecord) else record)
        return passed

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line of an event, or let the thread write it that writes now."""
        try:
            self._lines.append(self.format(record) + self.terminator)
            if _batches is None or len(self._lines) > MOST_WAITING:
                self._write_waiting()
            elif _batches.empty():
                _batches.put(None)
        except RecursionError:
            raise
        except Exception:
            self.handleError(record)

    def flush(self) -> None:
        """Write the lines that wait, behind those that another thread writes now.

        `logging` calls it at the end of the process. A stream that takes nothing does not hold the end up for long.
        """
        if self._writing.acquire(timeout=LONGEST_HOLD_S):
            try:
                self._write()
            finally:
                self._writing.release()

    def _write_waiting(self) -> None:
        while self._lines and self._writing.acquire(blocking=len(self._lines) > MOST_WAITING):
            try:
                self._write()
            finally:
                self._writing.release()

    def _write(self) -> None:
        lines = islice(iter(self._lines.popleft, None), len(self._lines))
        self.stream.write("".join(lines))
        self.stream.flush()

    def _renew(self) -> None:
        """Forget the lines and the lock of the parent process, whose threads are not here."""
        self._lines: deque[str] = deque()
        self._writing = threading.Lock()


def write_in_batches() -> None:
    """Let a thread of this process write the lines, each at most BATCH_S after its event."""
    global _batches
    _batches = SimpleQueue()
    threading.Thread(target=_write_batches, args=(_batches,), name="queueops-log", daemon=True).start()


def _write_batches(wanted: SimpleQueue[None]) -> None:
    """Write the lines of each batch. Its first line asks for it, and wakes this thread only after a pause."""
    while True:
        wanted.get()
        time.sleep(BATCH_S)
        for handler in tuple(_handlers):
            try:
                if handler._lines:
                    handler.flush()
            except Exception as error:  # a closed stream, or a full disk: later lines may be written again
                handler.handleError(logging.makeLogRecord({"msg": "lines lost: %s", "args": (error,)}))
            if handler._lines and wanted.empty():
                wanted.put(None)  # another thread was writing for long, and does not look for more


def _hold_all() -> None:
    """Before a fork: let no thread write. The child would have the lock of the stream, and no thread to release it.

    A thread that writes for long does not hold the fork back: its stream may never take the text.
    """
    _forking.acquire()
    _held.extend(handler for handler in tuple(_handlers) if handler._writing.acquire(timeout=LONGEST_HOLD_S))


def _release_all() -> None:
    """After a fork, in the parent: write the lines that came meanwhile."""
    held = _held.copy()
    _held.clear()
    for handler in held:
        handler._writing.release()
    _forking.release()
    for handler in held:
        handler._write_waiting()


def _renew_all() -> None:
    """After a fork, in the child: it has no thread that writes batches."""
    global _forking, _batches
    _batches = None
    _forking = threading.Lock()
    _held.clear()
    for handler in tuple(_handlers):
        handler._renew()


_handlers: WeakSet[LineHandler] = WeakSet()
_forking = threading.Lock()
_batches: SimpleQueue[None] | None = None
_held: list[LineHandler] = []
os.register_at_fork(before=_hold_all, after_in_parent=_release_all, after_in_child=_renew_all)
