"""Check of a filter's conditions in Python: of rows that were found, by what the user may see of them."""

from __future__ import annotations

from collections.abc import Mapping
from time import time
from typing import Any, NamedTuple

from queueops.inspect.errors import read_failure
from queueops.inspect.filter_fields import Condition, likes, lowered
from queueops.inspect.query import fits
from queueops.inspect.task_rows import StoredRow, TaskRow
from queueops.model.redact import Redactor
from queueops.model.states import table
from queueops.redis.query_replies import maybe_whole

DEFAULTS = {"k": "task", "l": "default", "p": "0", "at": "0", "cr": "0"}


class Checked(NamedTuple):
    """A task as conditions see it: its fields by their short names; of an error the type, and the whole text.

    Without a text any wanted text counts as found.
    """

    id: str
    fields: Mapping[str, str]
    error_type: str
    error: str | None


def of_stored(row: StoredRow, pool: str, hide: Redactor) -> Checked:
    """A row that was read now."""
    failure = read_failure(row.error)
    if failure is None:
        return Checked(row.id, row.fields, "", "")
    return Checked(row.id, row.fields, failure.type, f"{failure.type} {failure.message}")


def of_row(row: TaskRow) -> Checked:
    """A row of an earlier page."""
    fields = {
        "s": row.state, "n": row.name, "k": row.kind, "l": row.lane, "tg": ",".join(row.tags), "w": row.worker,
        "pi": row.parent, "lk": row.limit_key, "c": str(row.created_ms), "b": str(row.begun_ms or ""),
        "e": str(row.ended_ms or ""), "d": str(row.due_ms or ""),
        "at": str(row.attempt), "cr": str(row.crashes), "p": str(row.priority),
    }  # fmt: skip
    return Checked(row.id, fields, row.error.partition(": ")[0], None if row.error else "")


def meets(condition: Condition, task: Checked) -> bool:
    """Whether a task meets a condition, as the store checks it."""
    if isinstance(condition, bool):
        return condition
    match condition:
        case ["and", *parts]:
            return all(meets(part, task) for part in parts)
        case ["or", *parts]:
            return any(meets(part, task) for part in parts)
        case ["not", part]:
            return not meets(part, task)
        case ["word", word]:
            return any(
                word in lowered(value) for value in (task.id, *(_value(task, name) for name in ("n", "tg", "l", "w")))
            )
        case ["error", _, scope, wanted]:
            return _has_error(task, lowered(wanted), scope)
        case ["range", name, least, most]:
            number = _number(task, name)
            return number is not None and (least is False or number >= least) and (most is False or number < most)
        case [operator, name, wanted]:
            values = _value(task, name).split(",") if name == "tg" else [_value(task, name)]
            return any(_fits(operator, name, wanted, value) for value in values)
    raise AssertionError(condition)


def _fits(operator: str, name: str, wanted: Any, value: str) -> bool:
    if operator == "like":
        return likes(wanted, value)
    return fits(wanted, value) if name == "s" else value == wanted


def _has_error(task: Checked, wanted: str, scope: str) -> bool:
    if scope == "type":
        return wanted in lowered(task.error_type)
    return task.error is None or wanted in lowered(task.error)


def _value(task: Checked, name: str) -> str:
    return task.id if name == "id" else task.fields.get(name) or DEFAULTS.get(name, "")


def _number(task: Checked, name: str) -> int | None:
    now, read = int(time() * 1000), maybe_whole
    created, begun, ended = (read(_value(task, field) or None) for field in ("c", "b", "e"))
    match name:
        case "age":
            return None if created is None else now - created
        case "waited":
            return None if created is None else (begun or ended or now) - created
        case "ran":
            return _duration(begun, ended, now if _value(task, "s") in table().leased else None)
    return read(_value(task, name) or None)


def _duration(begun: int | None, ended: int | None, now: int | None) -> int | None:
    until = ended if ended is not None and begun is not None and ended >= begun else now
    return None if begun is None or until is None else until - begun
