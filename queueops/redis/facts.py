"""What the read-only scripts tell: bytes turned into text and numbers, nothing more. Garbage never raises here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from queueops.records import pairs


class PageRow(msgspec.Struct):
    """One task of a list. `fields` has the short names of `queueops.records`; `args` and `error` may be cut."""

    id: str
    entered_ms: int
    args_size: int
    fields: dict[str, str]
    args: bytes
    error: bytes
    score: str = ""


class Page(msgspec.Struct):
    """A walk over one index of one pool: where it stands, and what it found."""

    index: str
    size: int
    ended: bool
    seen: int
    score: str
    id: str
    rows: list[PageRow]


class ChildRow(msgspec.Struct):
    """One part of a composite; `order` is None where its parent keeps none, `row` where the part is gone."""

    id: str
    order: int | None
    row: PageRow | None


class ChildPage(msgspec.Struct):
    """Some parts of a composite, in their order; `next` is where the page behind it begins, empty at the end."""

    open: int
    next: str
    rows: list[ChildRow]


class Beat(msgspec.Struct):
    """A worker's last word."""

    id: str
    beat_ms: int
    fields: dict[str, str]


class ErrorFacts(msgspec.Struct):
    """One kind of error."""

    fingerprint: str
    last_ms: int
    fields: dict[str, str]
    failed: int


class Detail(msgspec.Struct, kw_only=True):
    """One task with all that decides whether it runs. `states`: which indexes name it, and since when."""

    id: str
    pool: str
    now: int
    record: dict[bytes, bytes]
    states: dict[str, int]
    due: int | None
    trashed: int | None
    log: list[bytes]
    lane: str
    conf: dict[str, str]
    ready: int
    rank: int | None
    active: int
    holders: list[str]
    token_at: int | None
    beat: int | None
    host: str
    tick: int | None
    grace: int | None
    started: int
    workers: list[Beat]
    alive: int
    open: int = 0
    parent_name: str = ""
    parent_state: str = ""
    parent_kind: str = ""

    @property
    def known(self) -> bool:
        """Whether the pool has anything of this id."""
        return bool(self.record or self.states or self.trashed)


def may_be_id(task_id: str) -> bool:
    """Whether a key made from it is that of a record: `#` begins the name of something else that a task has."""
    return 0 < len(task_id) <= 200 and "#" not in task_id


def text(value: bytes | None) -> str:
    """Any bytes as text."""
    return (value or b"").decode("utf-8", "replace")


def whole(value: bytes | str | int | None, default: int = 0) -> int:
    """A number, or the default where there is none."""
    found = maybe_whole(value)
    return default if found is None else found


def maybe_whole(value: bytes | str | int | None) -> int | None:
    """A number, or None where there is none."""
    try:
        return None if value is None else int(float(value)) if not isinstance(value, int) else value
    except (ValueError, OverflowError):
        return None


def texts(flat: Iterable[bytes]) -> dict[str, str]:
    """A flat reply as texts."""
    return {text(key): text(value) for key, value in pairs(flat).items()}


def read_page(fields: Sequence[str], reply: Sequence[Any]) -> Page:
    """The reply of `page`; `fields` are those that it gives of each row."""
    index, size, ended, seen, score, last, rows = reply
    return Page(text(index), size, bool(ended), seen, text(score), text(last), [_row(fields, row) for row in rows])


def _row(fields: Sequence[str], row: Sequence[Any]) -> PageRow:
    task_id, score, entered, size, values, args, error = row
    known = {name: text(value) for name, value in zip(fields, values, strict=False) if value is not None}
    return PageRow(text(task_id), whole(entered), size, known, args, error, text(score))


def read_children(fields: Sequence[str], reply: Sequence[Any]) -> ChildPage:
    """The reply of `children`."""
    open_count, further, rows = reply
    return ChildPage(open_count, text(further), [_child(fields, row) for row in rows])


def _child(fields: Sequence[str], row: Sequence[Any]) -> ChildRow:
    task_id, order, gone, *rest = row
    return ChildRow(text(task_id), maybe_whole(order), None if gone else _row(fields, [task_id, order, *rest]))


def read_beats(rows: Iterable[Sequence[Any]]) -> list[Beat]:
    """Workers, as `workers` and `detail` tell them."""
    return [Beat(text(worker), whole(beat), texts(flat)) for worker, beat, flat in rows]


def read_errors(rows: Iterable[Sequence[Any]]) -> list[ErrorFacts]:
    """The reply of `errors`."""
    return [ErrorFacts(text(name), whole(last), texts(flat), failed) for name, last, flat, failed in rows]


def read_detail(pool: str, task_id: str, reply: Sequence[Any]) -> Detail:
    """The reply of `detail`."""
    found: dict[str, Any] = {text(reply[i]): reply[i + 1] for i in range(0, len(reply), 2)}
    return Detail(
        id=task_id,
        pool=pool,
        now=whole(found["now"]),
        record=pairs(found["record"]),
        states={text(state): whole(entered) for state, entered in pairs(found["states"]).items()},
        due=maybe_whole(found.get("due")),
        trashed=maybe_whole(found.get("trashed")),
        log=found["log"],
        lane=text(found["lane"]),
        conf=texts(found["conf"]),
        ready=whole(found["ready"]),
        rank=maybe_whole(found.get("rank")),
        active=max(0, whole(found.get("active"))),
        holders=[text(holder) for holder in found["holders"]],
        token_at=maybe_whole(found.get("token_at")),
        beat=maybe_whole(found.get("beat")),
        host=text(found.get("host")),
        tick=maybe_whole(found.get("tick")),
        grace=maybe_whole(found.get("grace")),
        started=whole(found["started"]),
        workers=read_beats(found["workers"]),
        alive=whole(found["alive"]),
        open=whole(found.get("open")),
        parent_name=text(found.get("parent_name")),
        parent_state=text(found.get("parent_state")),
        parent_kind=text(found.get("parent_kind")),
    )
