"""Run a task again with other arguments, or change those of one that has not begun."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from queueops.control.per_pool_calls import GONE, act, places
from queueops.errors import NotDecodable
from queueops.model.contracts import Row
from queueops.model.encoding import Arguments, decode_arguments, encode_arguments
from queueops.model.records import Record, Undecodable
from queueops.model.states import TERMINAL, State
from queueops.redis.broker import get_broker
from queueops.tasks import registry

NONE = "-"
"""What the store is told where there are to be no arguments: empty would mean to leave them as they are."""


def edit_and_retry(
    id: str, args: Sequence[Any] | None, kwargs: Mapping[str, Any] | None, pool: str = "", *, who: str = ""
) -> Row:
    """Give a task new arguments (None: those that it has); one that has ended, or backs off, then runs again.

    They are checked against the signature where this process knows the task. A map-reduce task maps anew with them.
    Raises BadArguments, NotEncodable and PayloadTooLarge, and NotDecodable where those that it has cannot be read.
    """
    found = _record(id, pool)
    if found is None:
        return Row(id=id, word="GONE", state="", detail=GONE)
    place, record = found
    had, had_named = _had(record) if args is None or kwargs is None else ([], {})
    data = _encode(record, had if args is None else args, had_named if kwargs is None else kwargs) or NONE
    verb = "retry" if record is not None and record.state in _RUN_AGAIN else "edit"
    return act(verb, [id], place, value=data, who=who)[0]


_RUN_AGAIN = (*TERMINAL, State.RESTART)


def _record(id: str, pool: str) -> tuple[str, Record | None] | None:
    """The pool that holds the task, and its record; None in its place when it can't be read."""
    place = next(iter(places([id], pool)), "")
    if not place:
        return None
    try:
        record = get_broker().record(place, id)
    except Undecodable:
        return place, None
    return None if record is None else (place, record)


def _had(record: Record | None) -> Arguments:
    """The arguments that the task has. Raises NotDecodable for a record that can't be read."""
    if record is None:
        raise NotDecodable(what="arguments", name="the task", reason="its record is broken; give all of them")
    return decode_arguments(record.name, record.args)


def _encode(record: Record | None, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
    handler = registry.find(record.kind, record.name) if record is not None else None
    plan = getattr(handler, "plan", None)
    if plan is not None:
        checked: bytes = plan.encode(args, kwargs)
        return checked
    return encode_arguments(record.name if record is not None else "the task", args, kwargs)
