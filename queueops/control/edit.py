"""Edit of arguments: runs an ended task again with other arguments, or changes those of a waiting task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from queueops.control.per_pool_calls import GONE, act, place_of
from queueops.errors import NotDecodable
from queueops.model.contracts import Row
from queueops.model.records import Record, Undecodable
from queueops.model.states import TERMINAL, State
from queueops.redis.broker import get_broker
from queueops.tasks import registry
from queueops.tasks.encoding import Arguments, decode_arguments, encode_arguments

NONE = "-"
"""The text that stands for empty arguments in the script; an empty text leaves the arguments as they are."""


def edit_and_retry(
    id: str,
    args: Sequence[Any] | None,
    kwargs: Mapping[str, Any] | None,
    pool: str = "",
    *,
    who: str = "",
    seen: str = "",
) -> Row:
    """Replace a task's arguments (None: keep them); a task that has ended, or is in back-off, then runs again.

    They are checked against the signature if this process knows the task. The result of the task before it is not among
    them. A map-reduce task runs its map again. ``seen`` is the `version` of its detail: an action of another operator
    since then is not overwritten. Raises BadArguments, NotEncodable, PayloadTooLarge, and NotDecodable if its present
    arguments cannot be read.
    """
    found = _record(id, pool)
    if found is None:
        return Row(id=id, word="GONE", state="", detail=GONE)
    place, record = found
    had, had_named = _had(record) if args is None or kwargs is None else ([], {})
    data = _encode(record, had if args is None else args, had_named if kwargs is None else kwargs) or NONE
    verb = "retry" if record is not None and record.state in _RUN_AGAIN else "edit"
    return act(verb, [id], place, value=data, who=who, seen=seen)[0]


_RUN_AGAIN = (*TERMINAL, State.RESTART)


def _record(id: str, pool: str) -> tuple[str, Record | None] | None:
    """The pool that holds the task, and its record; None in its place if it cannot be read."""
    place = place_of(id, pool)
    if not place:
        return None
    try:
        record = get_broker().record(place, id)
    except Undecodable:
        return place, None
    return None if record is None else (place, record)


def _had(record: Record | None) -> Arguments:
    """The task's present arguments. Raises NotDecodable for an unreadable record."""
    if record is None:
        raise NotDecodable(what="arguments", name="the task", reason="its record is broken; give all of them")
    return decode_arguments(record.name, record.args)


def _encode(record: Record | None, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
    handler = registry.find(record.kind, record.name) if record is not None else None
    plan = getattr(handler, "plan", None)
    if record is not None and plan is not None:
        checked: bytes = (plan.encode if record.previous is None else plan.encode_after)(args, kwargs)
        return checked
    return encode_arguments(record.name if record is not None else "the task", args, kwargs)
