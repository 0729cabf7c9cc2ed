"""Log handler: writes the lines of many threads to a stream, by one write for all that wait.

`logging.StreamHandler` holds a lock while it formats and writes a line. The threads of a busy worker then wait for this
lock most of their time. Here a thread never waits for another one, unless the stream is far behind.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from typing import Any, TextIO
from weakref import WeakSet

MOST_WAITING = 1000
"""Lines that may wait for a slow stream. A thread with another one waits until some are written."""


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
            while self._lines and self._writing.acquire(blocking=len(self._lines) > MOST_WAITING):
                try:
                    self._write()
                finally:
                    self._writing.release()
        except RecursionError:
            raise
        except Exception:
            self.handleError(record)

    def _write(self) -> None:
        lines = [self._lines.popleft() for _ in range(len(self._lines))]
        self.stream.write("".join(lines))
        self.stream.flush()

    def _renew(self) -> None:
        """Forget the lines and the lock of the parent process, whose threads are not here."""
        self._lines: deque[str] = deque()
        self._writing = threading.Lock()


def _renew_all() -> None:
    for handler in tuple(_handlers):
        handler._renew()


_handlers: WeakSet[LineHandler] = WeakSet()
os.register_at_fork(after_in_child=_renew_all)
