"""Errors of results: see ``errors``."""

from __future__ import annotations

from typing import Any

from queueops.errors import QueueOpsError


class BadResult(QueueOpsError, TypeError):
    """The result of {name} does not fit its return annotation {annotation}: {reason}.
    Correct the annotation, or read the plain value from the attribute value of this error.

    The task has succeeded, and its result is stored.
    """

    name: str
    annotation: str
    reason: str
    value: Any
