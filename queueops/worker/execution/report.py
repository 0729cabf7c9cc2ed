"""Task log lines of a worker: one line at the end of each task, and one at its start for the level DEBUG.

The level of the end is INFO, also of an expected failure; that of another failure is WARNING. The two levels have
separate loggers. A project with very many small tasks can turn off the INFO lines. It keeps the lines about failures
and about the worker itself.

Each task pays for its line: only what a task chooses is masked, and no stack is searched for the caller. `logging`
finds the names of thread, process and file anew for each record. Here a thread finds them once.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any

from queueops.logs import MASKED, TOLD, masked
from queueops.model.contracts import Lease, Outcome, Settlement
from queueops.worker.execution import settlements

_ENDS = {
    Outcome.SUCCESS: "succeeded",
    Outcome.CANCEL: "was cancelled",
    Outcome.RELEASE: "was given back",
    Outcome.RESTART: "restarts",
    Outcome.QUARANTINE: "was put aside",
}
_FAILED = (Outcome.ERROR, Outcome.TIMEOUT)

logger = logging.getLogger("queueops.tasks")
failures = logging.getLogger("queueops.worker")
_has_failed = False


def started(lease: Lease) -> None:
    """Log that the task starts, for the level DEBUG."""
    if logger.isEnabledFor(logging.DEBUG):
        _log(logger, logging.DEBUG, "%s %s started (attempt %d of %d)",
             lease.name, masked(lease.id), lease.attempt, lease.retries + 1, lease=lease)  # fmt: skip


def ended(
    lease: Lease, settlement: Settlement, seconds: float, words: Callable[[Any], str] | None = None, value: Any = None
) -> None:
    """Log how the task ended, and its run time in milliseconds.

    With `words`, they tell a success and its value, if the kind has other words for it than "succeeded".
    """
    if settlement.outcome in _FAILED:
        _failed(lease, settlement, round(seconds * 1000))
    elif logger.isEnabledFor(logging.INFO):
        ms = round(seconds * 1000)
        how = _ENDS.get(settlement.outcome, settlement.outcome)
        if words is not None and settlement.outcome is Outcome.SUCCESS:
            how = masked(words(value))
        _log(logger, logging.INFO, "%s %s %s after %d ms (attempt %d of %d)",
             lease.name, masked(lease.id), how, ms, lease.attempt, lease.retries + 1,
             lease=lease, ms=ms, outcome=str(settlement.outcome))  # fmt: skip


def refused(lease: Lease) -> Settlement:
    """Log that the task was given back just before its start, and give it back."""
    settlement = settlements.unstarted(lease, settlements.TAKEN_OVER)
    ended(lease, settlement, 0.0)
    return settlement


def _failed(lease: Lease, settlement: Settlement, ms: int) -> None:
    to, level = (logger, logging.INFO) if settlement.expected else (failures, logging.WARNING)
    if not to.isEnabledFor(level):
        return
    how = "will be tried again" if settlements.will_be_retried(lease, settlement) else "failed"
    how = "failed as expected" if settlement.expected else how
    _log(to, level, "%s %s %s: %s (after %d ms, attempt %d of %d)",
         lease.name, masked(lease.id), how, masked(settlement.title), ms, lease.attempt, lease.retries + 1,
         lease=lease, ms=ms, outcome=str(settlement.outcome), error=settlement.title)  # fmt: skip


def _log(to: logging.Logger, level: int, message: str, *args: object, lease: Lease, **end: object) -> None:
    """Log a line with masked arguments. The project's code may fail in it, such as a filter: the task continues."""
    global _has_failed
    told = {
        "task": lease.id,
        "root": lease.root or lease.id,
        "name": lease.name,
        "pool": lease.pool,
        "attempt": lease.attempt,
        "attempts": lease.retries + 1,
        **end,
    }
    try:
        to.handle(_record(to, level, message, args, told))
    except Exception:
        if not _has_failed:
            _has_failed = True
            print("The logging of this project failed at a line about a task:", file=sys.stderr)
            traceback.print_exc()


class _Shared(threading.local):
    """The fields that all records of a thread share; None on an event loop, whose records differ by coroutine."""

    fields: dict[str, Any] | None

    def __init__(self) -> None:
        self.find()

    def find(self) -> None:
        """Find them again, for the process of a fork, too."""
        try:
            asyncio.get_running_loop()
            self.fields = None
        except RuntimeError:
            self.fields = vars(logging.LogRecord("", 0, __file__, 0, "", (), None, "_log"))


_shared = _Shared()
os.register_at_fork(after_in_child=_shared.find)


def _record(
    to: logging.Logger, level: int, message: str, args: tuple[object, ...], told: dict[str, Any]
) -> logging.LogRecord:
    """The record that `to.makeRecord` makes. It is called where the project may have changed what a record has."""
    shared = _shared.fields
    if shared is None or not _is_plain(type(to).makeRecord, logging.getLogRecordFactory()):
        return to.makeRecord(to.name, level, __file__, 0, message, args, None, "_log", {TOLD: told, MASKED: True})
    record, now = logging.LogRecord.__new__(logging.LogRecord), time.time()
    record.__dict__ = shared | {
        "name": to.name,
        "levelno": level,
        "levelname": logging.getLevelName(level),
        "msg": message,
        "args": args,
        "created": now,
        "msecs": int(now % 1 * 1000) + 0.0,
        "relativeCreated": shared["relativeCreated"] + (now - shared["created"]) * 1000,
        TOLD: told,
        MASKED: True,
    }
    return record


@lru_cache(maxsize=8)
def _is_plain(make: Callable[..., logging.LogRecord], factory: Callable[..., logging.LogRecord]) -> bool:
    """Whether records are made by `logging` alone: no factory, class or patch of the project."""
    is_of_logging = type(make) is FunctionType and make.__code__.co_filename == logging.__file__
    return is_of_logging and factory is logging.LogRecord
