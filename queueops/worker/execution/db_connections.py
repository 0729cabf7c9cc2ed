"""Database connections around each task, as Django treats them around each request.

Asking Django for its connections costs more than a small task. So a thread's connections are looked at only when one
was made there: a task that never touched a database pays for one look into a set.
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
    """Close what is broken or too old of this thread's connections. Called before and after each task."""
    ident = get_ident()
    if ident not in _threads:
        return
    reset_queries()
    try:
        close_old_connections()
    except Exception:  # of the database's own code; the connection is given up; the task is not at fault
        logger.warning("A database connection could not be closed in order", exc_info=True)
    if all(connection.connection is None for connection in connections.all(initialized_only=True)):
        _threads.discard(ident)


def leave_alone() -> None:
    """The connections that this thread has are not a worker's: the code that opened them closes them."""
    _threads.discard(get_ident())


def close_all() -> None:
    """At the end of a thread: it takes its connections with it."""
    try:
        connections.close_all()
    except Exception:  # the same
        logger.warning("A database connection could not be closed in order", exc_info=True)
    _threads.discard(get_ident())


def _created(**_: Any) -> None:
    _threads.add(get_ident())


connection_created.connect(_created, dispatch_uid="queueops.worker.execution.db_connections")
