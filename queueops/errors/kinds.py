"""Errors about kinds that are registered: see ``errors``."""

from __future__ import annotations

from queueops.errors import QueueOpsError


class BadKind(QueueOpsError, LookupError):
    """The kind {name} cannot be registered: {reason}."""

    name: str
    reason: str
