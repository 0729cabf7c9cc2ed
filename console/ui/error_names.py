"""Names of errors: the type of a fingerprint, for filters and the audit log."""

from __future__ import annotations

from queueops import inspect

MOST = 100
"""The most groups among which the type is looked up."""


def task_of(fingerprint: str) -> str:
    """The name of the tasks that fail with an error; empty if the group is not kept."""
    return next((row.name for row in inspect.errors(MOST) if row.fingerprint == fingerprint), "")


def error_name(fingerprint: str) -> str:
    """The type of an error without its module, and its fingerprint; the fingerprint alone if the group is not kept."""
    known = (row.type for row in inspect.errors(MOST) if row.fingerprint == fingerprint)
    type = next(known, "").rpartition(".")[2][:80]
    return f"{type} ({fingerprint})" if type else fingerprint
