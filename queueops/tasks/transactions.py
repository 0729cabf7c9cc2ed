"""Pushes within a database transaction: at once, with a warning, or after the commit (`QUEUEOPS["TRANSACTIONS"]`)."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from types import FrameType
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.db import connections, transaction

from queueops import conf
from queueops.conf import Transactions
from queueops.model import warn_once
from queueops.results import waiting

Answer = TypeVar("Answer")
_NOT_THE_CALLER = (
    *("queueops.", "asgiref.", "asyncio.", "concurrent.", "contextlib.", "threading."),
    *("django.tasks.", "django_tasks."),
)
_WARNING = (
    "%s pushes %s within a transaction of the database %r. A worker may run it before the commit, or although there is"
    " none. %s"
)
_ADVICE = "Write push_on_commit(...), or set QUEUEOPS['TRANSACTIONS'] to \"on_commit\"."


def to_wait_for(name: str, mode: Transactions | None = None, advice: str = _ADVICE) -> Sequence[str]:
    """The databases whose transactions the push of `name` waits for; none if it is sent at once.

    With "warn" it is sent at once, and the first push of each place in the code logs a warning that ends with `advice`.
    Without a `mode` the setting counts.
    """
    mode = mode or conf.current().transactions or Transactions.NOW
    if mode is Transactions.NOW:
        return ()
    opened = _opened()
    if opened and mode is Transactions.WARN:
        place = _caller()
        warn_once.warn((place, name), _WARNING, place, name, opened[0], advice)
        return ()
    return opened


def of_settings(usual: Transactions = Transactions.NOW) -> Transactions:
    """The setting TRANSACTIONS, or `usual` without it."""
    return conf.current().transactions or usual


def after_commit(databases: Sequence[str], send: Callable[[], object]) -> None:
    """Call `send` once the transactions of all these databases are committed; never if one is rolled back."""
    open_ones = set(databases)

    def committed(database: str) -> None:
        open_ones.discard(database)
        if not open_ones:
            send()

    for database in databases:
        transaction.on_commit(partial(committed, database), using=database)


def in_thread(call: Callable[[], Answer]) -> Awaitable[Answer]:
    """Push beside the event loop. If transactions count, the push runs in the thread that has them."""
    if of_settings() is Transactions.NOW:
        return waiting.in_thread(call)
    return sync_to_async(call)()


def _opened() -> list[str]:
    """The databases with an open atomic block. Blocks that a TestCase opens around each test do not count."""
    return [
        connection.alias
        for connection in connections.all(initialized_only=True)
        if connection.in_atomic_block and not all(_is_of_test(block) for block in connection.atomic_blocks)
    ]


def _is_of_test(block: Any) -> bool:
    return bool(getattr(block, "_from_testcase", False))


def _caller() -> str:
    """The place in the code that pushes."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if not f"{frame.f_globals.get('__name__', '')}.".startswith(_NOT_THE_CALLER):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return "Async code"
