"""Redaction: masks secrets for all users, and conceals texts of tasks from users without the permission.

`concealing` sets for one request of the console what its user may see. A terminal and Python code see all but secrets.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from queueops import conf
from queueops.inspect.store import parameters
from queueops.model import kinds
from queueops.model.redact import Concealer, Redactor, cut

KEPT = 20_000
"""The most characters of a text."""

_conceals: ContextVar[bool] = ContextVar("queueops_conceals", default=False)


@contextmanager
def concealing(conceals: bool = True) -> Iterator[None]:
    """Answer as for a user without the permission for arguments: errors get type and places, other texts nothing."""
    token = _conceals.set(conceals)
    try:
        yield
    finally:
        _conceals.reset(token)


def conceals() -> bool:
    """Whether the current user gets no texts of tasks."""
    return _conceals.get()


def redactor() -> Redactor:
    """The redactor for the current user, by the setting REDACT."""
    return _concealer(conf.current().redact) if conceals() else conf.redactor()


@lru_cache(maxsize=8)
def _concealer(patterns: tuple[str, ...]) -> Concealer:
    return Concealer(patterns)


def masked_arguments(
    args: Sequence[Any] | None, kwargs: Mapping[str, Any] | None, kind: str, name: str, *, first: int = 0
) -> str:
    """New arguments of a task of this kind and name, as masked JSON for the audit log. Null means no change.

    The positional ones begin with the parameter of number ``first``.
    """
    return cut(conf.redactor().document(_encoded([args, kwargs]), parameters(kind, name)[first:]), KEPT)


def masked_call(args: Sequence[Any], kwargs: Mapping[str, Any], name: str) -> str:
    """Arguments of a schedule, as masked JSON for the audit log; its form names the task and not the kind."""
    kind = next((kind for kind in ("task", *kinds.records()) if parameters(kind, name)), "task")
    return masked_arguments(args, kwargs, kind, name)


def masked_data(value: Any) -> str:
    """New data of a chunk, as masked JSON for the audit log."""
    return cut(conf.redactor().document(_encoded(value)), KEPT)


def _encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
