"""Errors about kinds that are registered: see ``errors``."""

from __future__ import annotations

from queueops.errors import QueueOpsError


class BadKind(QueueOpsError, LookupError):
    """The kind {name} cannot be registered: {reason}."""

    name: str
    reason: str


class NeedsStore(QueueOpsError, LookupError):
    """{what} needs a store, and eager() has none. Use namespace() and run_worker(), or the fixture queueops_worker."""

    what: str
