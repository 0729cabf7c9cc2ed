"""Log lines and prints of the code of a workflow: a replay does not write them again, nor does a run that is forgotten.

Python's loggers hand each record to `Logger.handle`. It drops a record if the code that logs it is replayed in this
thread. `print` does the same.
"""

from __future__ import annotations

import asyncio
import builtins
import logging
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from queueops.kinds.workflows.replay.refused_io import ReplayedLoop


@cache
def install() -> None:
    """Drop them from now on; once for each process."""
    logging.Logger.handle = _once(logging.Logger.handle)  # type: ignore[method-assign]
    builtins.print = _once(print)


def _once(write: Callable[..., None]) -> Any:
    @wraps(write)
    def written_once(*args: Any, **options: Any) -> None:
        loop = asyncio._get_running_loop()
        if not (isinstance(loop, ReplayedLoop) and loop.is_replaying()):
            write(*args, **options)

    return written_once
