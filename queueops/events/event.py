"""Event: the public form of what the scripts publish while a stream follows."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from queueops.model.records import Record
from queueops.model.states import TERMINAL
from queueops.redis.query_replies import read_object

NOW, STATE, END, PROGRESS, LOG, GAP = "now", "state", "end", "progress", "log", "gap"
KINDS = (STATE, END, PROGRESS, LOG)
"""The kinds that can be requested; `now` and `gap` always come."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """An event of one task.

    `kind`: "end" (it succeeded, failed or was cancelled), "state" (any other change of state), "progress", "log". "now"
    is the state that was read at the beginning, and after a gap. "gap" means that events may be missing, and `text` has
    the reason. `state` is the new state, empty for a task that is gone. `before` is the previous state, empty for a new
    task. `at_ms` is the store's time in milliseconds of the epoch.
    """

    kind: str
    id: str = ""
    pool: str = ""
    name: str = ""
    root: str = ""
    state: str = ""
    before: str = ""
    done: float | None = None
    total: float | None = None
    text: str = ""
    at_ms: int = 0

    @property
    def is_end(self) -> bool:
        """Whether the task has ended with this event."""
        return self.state in TERMINAL


def parse(pool: str, data: bytes) -> Event | None:
    """One event of a published message; None for a message of a foreign program."""
    found = read_object(data)
    if found is None or "id" not in found:
        return None
    task_id = _text(found, "id")
    state = _text(found, "to")
    return Event(
        kind=_kind(found, state),
        id=task_id,
        pool=pool,
        name=_text(found, "name"),
        root=_text(found, "root") or task_id,
        state=state,
        before=_text(found, "from"),
        done=_number(found.get("done")),
        total=_number(found.get("total")),
        text=_text(found, "text"),
        at_ms=int(_number(found.get("t")) or 0),
    )


def now(record: Record) -> Event:
    """An event with the state of a record."""
    return Event(
        kind=NOW,
        id=record.id,
        pool=record.pool,
        name=record.name,
        root=record.root or record.id,
        state=record.state,
        done=record.progress,
        total=record.total,
        text=record.reason,
    )


def _kind(found: dict[str, Any], state: str) -> str:
    if state in TERMINAL:
        return END
    if "to" in found or "from" in found:
        return STATE
    return LOG if found.get("text") else PROGRESS


def _text(found: dict[str, Any], name: str) -> str:
    value = found.get(name, "")
    return value if isinstance(value, str) else ""


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None
