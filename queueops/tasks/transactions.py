"""Pushes within a database transaction: `QUEUEOPS["TRANSACTIONS"]`.

A push is sent at once, with a warning, after the commit, or by a row of the outbox that is committed with the rest.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from types import FrameType
from typing import Any, NamedTuple, TypeVar

from asgiref.sync import sync_to_async
from django.db import DEFAULT_DB_ALIAS, connections, transaction

from queueops import conf
from queueops.conf import Transactions
from queueops.errors import BadOption
from queueops.model import warn_once
from queueops.redis import broker as brokers
from queueops.results import waiting
from queueops.tasks import outbox as outboxes

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


class Wait(NamedTuple):
    """What a push waits for: the commits of these databases, or that of its row in the outbox of one of them."""

    databases: Sequence[str]
    by_outbox: bool = False

    def leave(self, send: Callable[[], object], kept: Callable[[], Iterable[outboxes.Kept]]) -> None:
        """Send it then: by `send`, or by the rows that `kept` gives."""
        if not self.by_outbox:
            return after_commit(self.databases, send)
        if rows := list(kept()):
            outboxes.installed().keep(self.databases[0], rows)
        return None


def to_wait_for(
    name: str, mode: Transactions | None = None, advice: str = _ADVICE, outbox: bool | str = False
) -> Wait | None:
    """What the push of `name` waits for; None if it is sent at once.

    With "warn" it is sent at once, and the first push of each place in the code logs a warning that ends with `advice`.
    Without a `mode` the setting counts. With `outbox` it is a row, in a transaction or not.
    """
    mode = Transactions.OUTBOX if outbox else mode or conf.current().transactions or Transactions.NOW
    if mode is Transactions.NOW or conf.store_name():  # an outbox and its transactions are of the project's own store
        return None
    opened = _opened()
    if mode is Transactions.OUTBOX and (opened or outbox) and not brokers.runs_here():
        return Wait([_of_row(opened, outbox)], by_outbox=True)
    if opened and mode is Transactions.WARN:
        place = _caller()
        warn_once.warn((place, name), _WARNING, place, name, opened[0], advice)
        return None
    return Wait(opened) if opened else None


def at_commit(name: str, outbox: bool | str = False) -> Wait:
    """What a push waits for that is to be sent after the commit, whatever the setting says."""
    by_row = outbox or of_settings() is Transactions.OUTBOX
    return (to_wait_for(name, outbox=outbox) if by_row else None) or Wait([DEFAULT_DB_ALIAS])


def _of_row(opened: Sequence[str], outbox: bool | str) -> str:
    """The database of a row: the one that was named, or the one with a transaction. Raises BadOption for several."""
    if isinstance(outbox, str):
        return outbox
    if len(opened) > 1:
        expected = f"the name of one database, because {' and '.join(opened)} have open transactions"
        raise BadOption(name="outbox", value=outbox, expected=expected)
    return opened[0] if opened else DEFAULT_DB_ALIAS


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
    """Push beside the event loop. If transactions may count, the push runs in the thread that has them."""
    if of_settings() is Transactions.NOW and not outboxes.is_installed():
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
