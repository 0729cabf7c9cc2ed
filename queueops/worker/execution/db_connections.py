"""Database connection cleanup: treats connections around each task as Django does around each request.

Iterating over Django's connections costs more than a small task. So only the connections of threads that made one are
checked. A task that never used a database pays for one look into a set.
"""

from __future__ import annotations

import logging
from threading import get_ident
from typing import Any

from django.db import close_old_connections, connections, reset_queries
from django.db.backends.signals import connection_created

_threads: set[int] = set()
logger = logging.getLogger("queueops.worker")


def clean() -> None:
    """Close this thread's broken or expired connections. Called before and after each task."""
    ident = get_ident()
    if ident not in _threads:
        return
    reset_queries()
    try:
        close_old_connections()
    except Exception:  # an error of the database driver: the connection is dropped, the task is not at fault
        logger.warning("A database connection could not be closed in order", exc_info=True)
    if all(connection.connection is None for connection in connections.all(initialized_only=True)):
        _threads.discard(ident)


def leave_alone() -> None:
    """Exclude this thread's connections from the cleanup: the code that opened them closes them."""
    _threads.discard(get_ident())


def close_all() -> None:
    """Close all connections of this thread, which is about to end."""
    try:
        connections.close_all()
    except Exception:  # an error of the database driver: the thread ends anyway
        logger.warning("A database connection could not be closed in order", exc_info=True)
    _threads.discard(get_ident())


def _created(**_: Any) -> None:
    _threads.add(get_ident())


connection_created.connect(_created, dispatch_uid="queueops.worker.execution.db_connections")
