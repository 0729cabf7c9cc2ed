"""Run a task again with other arguments, or change those of one that has not begun."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from queueops import registry
from queueops.contracts import Row
from queueops.control.act import GONE, act, places
from queueops.encoding import encode_arguments
from queueops.records import Record, Undecodable
from queueops.redis.broker import get_broker
from queueops.states import TIMED, State

NONE = "-"
"""What the store is told where there are to be no arguments: empty would mean to leave them as they are."""


def edit_and_retry(id: str, args: Sequence[Any], kwargs: Mapping[str, Any], pool: str = "", *, who: str = "") -> Row:
    """Give a task new arguments; one that has ended, or backs off, then runs again.

    They are checked against the signature where this process knows the task. A map-reduce task maps anew with them.
    Raises BadArguments, NotEncodable and PayloadTooLarge.
    """
    found = _record(id, pool)
    if found is None:
        return Row(id=id, word="GONE", state="", detail=GONE)
    place, record = found
    data = _encode(record, args, kwargs) or NONE
    verb = "edit" if record is not None and record.state in _NOT_BEGUN else "retry"
    return act(verb, [id], place, value=data, who=who)[0]


_NOT_BEGUN = (State.PENDING, *(state for state in TIMED if state is not State.RESTART))


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


def _encode(record: Record | None, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
    handler = registry.find(record.kind, record.name) if record is not None else None
    plan = getattr(handler, "plan", None)
    if plan is not None:
        checked: bytes = plan.encode(args, kwargs)
        return checked
    return encode_arguments(record.name if record is not None else "the task", args, kwargs)
