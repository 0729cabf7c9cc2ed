"""Savepoints around each attempt: a database error of an attempt does not break the transaction of a test.

A worker has no transaction around a task. In the transaction of a test, a database error of a task would leave a broken
transaction. All later queries, also those of its next attempts, would raise TransactionManagementError.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from django.db import DatabaseError, connections, transaction


class Attempt:
    """One attempt of a task; the caller that runs it sets `failed`."""

    failed = False


@contextmanager
def savepoints() -> Iterator[Attempt]:
    """Run the block in a savepoint of each database transaction of this thread.

    A savepoint is rolled back if the block has broken its transaction. Otherwise its writes stay, as with a worker.
    """
    attempt = Attempt()
    with ExitStack() as stack:
        for connection in _in_transaction():
            stack.enter_context(_savepoint(connection, attempt))
        yield attempt


def _in_transaction() -> list[Any]:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        found = connections.all(initialized_only=True)
        return [each for each in found if each.in_atomic_block and not each.needs_rollback]
    return []  # the task runs in a thread of its own, whose connections have no transaction


@contextmanager
def _savepoint(connection: Any, attempt: Attempt) -> Iterator[None]:
    atomic = transaction.atomic(using=connection.alias)
    # In the transaction of a test, and so within this savepoint, a durable block of the task is allowed.
    atomic._from_testcase = connection.atomic_blocks[-1]._from_testcase
    try:
        with atomic:
            yield
            if attempt.failed and not connection.needs_rollback and not connection.is_usable():
                raise _BrokenError
    except _BrokenError:
        return


class _BrokenError(DatabaseError):
    """Roll the savepoint back."""
