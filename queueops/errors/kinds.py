"""Errors about kinds that are registered: see ``errors``."""

from __future__ import annotations

from queueops.errors import QueueOpsError


class BadKind(QueueOpsError, LookupError):
    """The kind {name} cannot be registered: {reason}."""

    name: str
    reason: str


class NeedsStore(QueueOpsError, LookupError):
    """{what} does not work in eager() and recorder(). Use namespace() and run_worker(), or the fixture queueops_worker.

    It needs a store with all tasks.
    """

    what: str


class NotOffered(QueueOpsError, LookupError):
    """The store {store} does not offer {capability}. Redis and Valkey do; QUEUEOPS['STORE'] chooses another store."""

    store: str
    capability: str


class NeedsServer(QueueOpsError, LookupError):
    """In eager() all but plain tasks needs a server. Write: pip install 'queueops[embedded]' - or 'fakeredis[lua]'."""
