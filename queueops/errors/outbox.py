"""Errors about the outbox of a database."""

from __future__ import annotations

from queueops.errors import FilterError, QueueOpsError


class OutboxNotInstalled(QueueOpsError):
    """The outbox needs the app queueops.contrib.outbox: add it to INSTALLED_APPS, and run `manage.py migrate`."""


class OutboxRowUnreadable(QueueOpsError):
    """The row {id} of the outbox cannot be read: {reason}."""

    id: int
    reason: str


class OutboxRefused(QueueOpsError):
    """The store refused it: a task with the id {id} exists, and on_conflict is "reject"."""

    id: str


class NoOutbox(FilterError):
    """There is no outbox in the database {database!r}; it is in {known}. `manage.py migrate --database` makes one."""

    database: str
    known: str
