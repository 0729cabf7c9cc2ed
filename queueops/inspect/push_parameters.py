"""Push parameters: what a push of a task takes, for a form."""

from __future__ import annotations

import enum
import inspect
import json
import types
import typing
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID

from queueops.errors import UnknownTask
from queueops.inspect.answers import Answer
from queueops.inspect.redaction import redactor
from queueops.model.redact import MASK
from queueops.tasks.declared_schedules import find_task

__all__ = ["PushParameter", "push_parameters", "push_pool"]

TEXTS = (str, date, datetime, time, Decimal, UUID, Path)
"""Types whose JSON is a text, which a form takes without quotes."""
SORTS: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "more", inspect.Parameter.VAR_KEYWORD: "rest"}


class PushParameter(Answer, frozen=True, kw_only=True):
    """One parameter. `sort` is `more` for `*args`, `rest` for `**kwargs`, else empty."""

    TEXTS: ClassVar[tuple[str, ...]] = ()

    name: str
    annotation: str = ""
    default: str = ""  # as Python shows it; masked
    required: bool = False
    sort: str = ""
    is_positional: bool = False  # it cannot be named
    is_named: bool = False  # it has to be named
    is_text: bool = False  # its JSON is a text
    takes_none: bool = False
    choices: tuple[str, ...] = ()  # the only values, as JSON


def push_parameters(name: str) -> tuple[PushParameter, ...]:
    """The parameters of a task whose code this process has. Raises UnknownTask, and BadDependency."""
    signature: inspect.Signature = find_task(name).handler.plan.signature
    return tuple(_parameter(each) for each in signature.parameters.values())


def push_pool(name: str) -> str:
    """The pool of a task whose code this process has; empty if it has not."""
    try:
        return find_task(name).options.pool
    except UnknownTask:
        return ""


def _parameter(found: inspect.Parameter) -> PushParameter:
    wanted, empty = found.annotation, found.empty
    members = set(_members(wanted))
    return PushParameter(
        name=found.name,
        annotation="" if wanted in (empty, Any) else inspect.formatannotation(wanted),
        default="" if found.default is empty else _shown(found),
        required=found.default is empty and found.kind not in SORTS,
        sort=SORTS.get(found.kind, ""),
        is_positional=found.kind is found.POSITIONAL_ONLY,
        is_named=found.kind in (found.KEYWORD_ONLY, found.VAR_KEYWORD),
        is_text=found.kind not in SORTS and bool(members) and all(each in TEXTS for each in members - {type(None)}),
        takes_none=type(None) in members,
        choices=() if found.kind in SORTS else tuple(json.dumps(value) for value in _values(wanted)),
    )


def _shown(found: inspect.Parameter) -> str:
    hide = redactor()
    return MASK if hide.hides(found.name) else hide.text(repr(found.default))


def _members(wanted: Any) -> Iterator[Any]:
    """The types of a union, or the one type."""
    if typing.get_origin(wanted) in (typing.Union, types.UnionType):
        for each in typing.get_args(wanted):
            yield from _members(each)
    elif isinstance(wanted, type) and wanted is not inspect.Parameter.empty:
        yield wanted
    else:
        yield object


def _values(wanted: Any) -> tuple[Any, ...]:
    """The values of a flag, a Literal or an Enum; none if there are others."""
    if wanted is bool:
        return (True, False)
    if typing.get_origin(wanted) is typing.Literal:
        return typing.get_args(wanted)
    values = tuple(each.value for each in wanted) if isinstance(wanted, type) and issubclass(wanted, enum.Enum) else ()
    return values if all(isinstance(value, str | int | float) for value in values) else ()
