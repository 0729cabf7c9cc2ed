"""Task rows: the tasks of lists and trees, read from the replies of scripts, with arguments redacted and cut."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from queueops.inspect.answers import Answer
from queueops.inspect.errors import read_failure, title
from queueops.inspect.store import parameters
from queueops.model.allowed import allowed_verbs
from queueops.model.redact import Redactor, cut
from queueops.model.states import CONTAINERS, TIMED, State
from queueops.redis.query_replies import maybe_real, maybe_whole, text, whole
from queueops.redis.wire import with_first

ROW_FIELDS = (
    *("s", "n", "k", "l", "p", "c", "b", "e", "d", "at", "r", "cr", "w", "pr", "to", "tg", "y", "ef", "pi", "lk", "ck"),
)
"""What `page`, `rows` and `tree` return of each task, in the order of ROW_FIELDS in `lua/lib/list_row.lua`."""

LONGEST_PREVIOUS = 4096
"""LONGEST of `lua/lib/list_row.lua`: a value of that length may be cut."""


class TaskFacts(Answer, frozen=True, kw_only=True):
    """Fields of a task that lists and its own page show."""

    TEXTS_OF_TASKS: ClassVar[tuple[str, ...]] = ("reason",)
    STORED: ClassVar[tuple[str, ...]] = ("reason",)

    id: str
    pool: str
    name: str
    kind: str
    state: str
    lane: str
    priority: int
    attempt: int  # attempts that ended in an error or a timeout
    retries: int
    crashes: int
    created_ms: int
    entered_ms: int  # when it entered its state
    due_ms: int | None = None
    args: str = ""  # a short, redacted preview
    worker: str = ""
    progress: float | None = None
    total: float | None = None
    tags: tuple[str, ...] = ()
    limit_key: str = ""  # its key or that of its parts, for which the limits of its name hold
    reason: str = ""
    allowed: tuple[str, ...] = ()  # verbs of queueops.control that its kind and its state allow

    @property
    def is_claimed(self) -> bool:
        """Whether workers claim it: a chain and a group have no lane, no priority and no attempts."""
        return self.kind not in CONTAINERS

    @property
    def error_is_earlier(self) -> bool:
        """Whether its error is that of an earlier attempt, and not the reason of its state."""
        return self.state not in (State.FAILED, State.RESTART)


class TaskRow(TaskFacts, frozen=True, kw_only=True):
    """One row of a task list."""

    TEXTS: ClassVar = ("error",)

    error: str = ""  # one line
    parent: str = ""  # its parent task
    begun_ms: int | None = None  # its latest start
    ended_ms: int | None = None


class StoredRow(NamedTuple):
    """One task of a list. `fields` has the short names of `queueops.model.records`; `args` and `error` may be cut."""

    id: str
    entered_ms: int
    args_size: int
    fields: Mapping[str, str]
    args: bytes
    error: bytes
    score: str = ""  # in the index that was walked
    previous: bytes = b""  # the result that is its first argument, before those of `args`; it may be cut


def read_row(task_id: str, row: Sequence[Any], score: str = "") -> StoredRow:
    """Parse a row: the time of its state, the size of its arguments, its fields, its arguments and its error."""
    entered, size, values, args, error, previous = row
    known = {name: text(value) for name, value in zip(ROW_FIELDS, values, strict=False) if value is not None}
    return StoredRow(task_id, whole(entered), size, known, args, error, score, previous)


def row_of(pool: str, row: StoredRow, hide: Redactor) -> TaskRow:
    """One row, with its arguments redacted and cut."""
    field = row.fields.get
    kind, state = field("k", "task"), field("s", "")
    facts = facts_of(row.fields, state)
    return TaskRow(
        **facts,
        id=row.id,
        pool=pool,
        kind=kind,
        lane=field("l", "default"),
        created_ms=whole(field("c")),
        entered_ms=row.entered_ms,
        args=_preview(row, parameters(kind, facts["name"]), hide),
        error=title(read_failure(row.error)),
        reason=cut(field("y", ""), 200),
        parent=field("pi", ""),
        begun_ms=maybe_whole(field("b")),
        ended_ms=maybe_whole(field("e")),
        allowed=allowed_verbs(kind, state, row.fields),
    )


def facts_of(fields: Mapping[str, str], state: str) -> dict[str, Any]:
    """The facts from the record that a row and the page of a task share, by the names of TaskFacts."""
    field = fields.get
    return {
        "name": field("n", ""),
        "state": state,
        "priority": whole(field("p")),
        "attempt": whole(field("at")),
        "retries": whole(field("r")),
        "crashes": whole(field("cr")),
        "due_ms": maybe_whole(field("d")) if state in TIMED else None,
        "worker": field("w", ""),
        "progress": maybe_real(field("pr")),
        "total": maybe_real(field("to")),
        "tags": tuple(filter(None, field("tg", "").split(","))),
        "limit_key": field("lk") or field("ck", ""),
    }


def shows(row: StoredRow, wanted: str, hide: Redactor) -> bool:
    """Whether the id, or what a user may see of the arguments, contains a text. A search must not tell a secret."""
    if not wanted or wanted in row.id:
        return True
    names = parameters(row.fields.get("k", "task"), row.fields.get("n", ""))
    if row.args_size <= len(row.args):
        return wanted in hide.compact(row.args, names)
    return not any(hide.hides(name) for name in names) and wanted in hide.text(text(row.args))


def _whole(previous: bytes) -> bytes:
    """A previous result; one that is cut is only named."""
    return previous if len(previous) < LONGEST_PREVIOUS else json.dumps("the result of the task before it").encode()


def _preview(row: StoredRow, names: tuple[str, ...], hide: Redactor) -> str:
    """Arguments as a short call. Cut arguments are masked as text, because incomplete data cannot be decoded."""
    if row.args_size <= len(row.args):
        args = with_first(row.args, _whole(row.previous)) if row.previous else row.args
        return hide.call(args, names) if args else ""
    if any(hide.hides(name) for name in names):
        return f"({row.args_size:,} bytes)"
    return f"{cut(hide.text(text(row.args)), 80)} ({row.args_size:,} bytes)"
