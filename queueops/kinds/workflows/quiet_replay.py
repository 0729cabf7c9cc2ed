"""Log lines of the code of a workflow: a replay does not write them again.

Python's loggers hand each record to `Logger.handle`. It drops a record if the code that logs it is replayed in this
thread. What is printed is not concerned.
"""

from __future__ import annotations

import asyncio
import logging
from functools import cache, wraps

from queueops.kinds.workflows.refused_io import ReplayedLoop


@cache
def install() -> None:
    """Drop these records from now on; once for each process."""
    handle = logging.Logger.handle

    @wraps(handle)
    def handle_once(self: logging.Logger, record: logging.LogRecord) -> None:
        loop = asyncio._get_running_loop()
        if not (isinstance(loop, ReplayedLoop) and loop.is_replaying()):
            handle(self, record)

    logging.Logger.handle = handle_once  # type: ignore[method-assign]
