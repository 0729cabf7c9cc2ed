"""Database connection cleanup: treats connections around each task as Django does around each request.

Iterating over Django's connections costs more than a small task. So only the connections of threads that made one are
checked. A task that never used a database pays for one look into a set.
"""

from __future__ import annotations

import logging
from threading import get_ident
from typing import Any

from django.db import DatabaseError, close_old_connections, connections, reset_queries
from django.db.backends.signals import connection_created

from queueops.model.contracts import Lease

_threads: set[int] = set()
_OPEN = (1, 2, 3)
"""Transaction status of PostgreSQL's library: a command runs, a transaction is open, or an error has broken it."""
_IN_TRANSACTION = 1
"""Server status of MySQL."""
_STATUS = "server_status"
"""Where PyMySQL keeps it. mysqlclient does not tell it."""
_NO_SAVEPOINT = 1305
"""Error of MySQL."""
_IS_USED = "queueops_is_used"
"""Attribute of a connection of mysqlclient: whether a query was made since it was last asked."""
logger = logging.getLogger("queueops.worker")


def clean(lease: Lease | None = None) -> None:
    """Roll back what was left open, and close this thread's broken or expired connections.

    Called before and after each task. ``lease``: the task that has ended.
    """
    ident = get_ident()
    if ident not in _threads:
        return
    reset_queries()
    try:
        for connection in connections.all(initialized_only=True):
            if _is_left_open(connection, after_task=lease is not None):
                _roll_back(connection, lease)
        close_old_connections()
    except Exception:  # an error of the database driver: the connection is dropped, the task is not at fault
        logger.warning("A database connection could not be closed in order", exc_info=True)
    if all(connection.connection is None for connection in connections.all(initialized_only=True)):
        _threads.discard(ident)


def close_all() -> None:
    """Close all connections of this thread, which is about to end."""
    try:
        connections.close_all()
    except Exception:  # an error of the database driver: the thread ends anyway
        logger.warning("A database connection could not be closed in order", exc_info=True)
    _threads.discard(get_ident())


def _is_left_open(connection: Any, *, after_task: bool) -> bool:
    """Whether a transaction is open. The driver also knows of a BEGIN that Django did not send.

    Two statements ask mysqlclient. Before a task they are left out if Django has made no query since.
    """
    if connection.in_atomic_block:  # a block that was not left, even if its connection is closed
        return True
    driver = connection.connection
    if driver is None:
        return False
    match connection.vendor:
        case "postgresql":
            return driver.info.transaction_status in _OPEN
        case "sqlite":
            return bool(driver.in_transaction)
        case "mysql" if hasattr(driver, _STATUS):
            return bool(getattr(driver, _STATUS) & _IN_TRANSACTION)
        case "mysql":
            return (after_task or getattr(connection, _IS_USED, True)) and _keeps_savepoint(connection)
    return False


def _keeps_savepoint(connection: Any) -> bool:
    """Whether a transaction is open on MySQL. mysqlclient does not tell, but outside of one a savepoint is not kept."""
    with connection.cursor() as cursor:
        cursor.execute("SAVEPOINT queueops")
        try:
            cursor.execute("RELEASE SAVEPOINT queueops")
        except DatabaseError as error:
            if error.args[0] != _NO_SAVEPOINT:
                raise
            return False
        finally:
            setattr(connection, _IS_USED, False)
    return True


def _roll_back(connection: Any, lease: Lease | None) -> None:
    """End the transactions of a connection, and close it.

    With AUTOCOMMIT off, a query alone leaves one open. So no warning tells it, and the connection is kept.
    """
    is_usual = not connection.settings_dict["AUTOCOMMIT"] and not connection.in_atomic_block
    whose = f"{lease.name} {lease.id}" if lease else "Code outside of a task"
    told = {"task": lease.id, "name": lease.name, "pool": lease.pool} if lease else {}
    message = "%s left a transaction open in the database %r. It was rolled back."
    level = logging.INFO if is_usual else logging.WARNING
    logger.log(level, message, whose, connection.alias, extra={"told": told})
    try:
        while connection.atomic_blocks:  # each is left as if an error had come
            connection.atomic_blocks[-1].__exit__(DatabaseError, None, None)
        connection.rollback()
    finally:
        if not is_usual:
            connection.close()


def _created(connection: Any, **_: Any) -> None:
    _threads.add(get_ident())
    asks = connection.vendor == "mysql" and not hasattr(connection.connection, _STATUS)
    if asks and _note_use not in connection.execute_wrappers:
        connection.execute_wrappers.insert(0, _note_use)  # Django removes those of a block at the end of the list


def _note_use(execute: Any, sql: Any, params: Any, many: Any, context: Any) -> Any:
    setattr(context["connection"], _IS_USED, True)
    return execute(sql, params, many, context)


connection_created.connect(_created, dispatch_uid="queueops.worker.execution.db_connections")
