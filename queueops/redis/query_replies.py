"""Query replies: parse what the read-only scripts return into text and numbers. An unreadable value raises no error."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from queueops.model.records import pairs

LATE_MS = 15_000
"""A worker whose entry is older is late. A busy worker renews it every 5 s, an idle one at least every 10 s."""
_MOST = 2**53
"""The engine writes no greater number; a greater one is garbage."""


class Beat(msgspec.Struct):
    """A worker's latest heartbeat."""

    id: str
    beat_ms: int
    fields: dict[str, str]


Neighbour = tuple[str, str, str]
"""Id, name and state of the neighbour of a part in a chain."""


class Detail(msgspec.Struct, kw_only=True):
    """One task with all that decides whether it runs. `states`: which indexes list it, and since when."""

    id: str
    pool: str
    now: int
    record: dict[bytes, bytes]
    states: dict[str, int]
    due: int | None = None
    trashed: int | None = None
    log: list[bytes] = []
    lane: str
    conf: dict[str, str] = {}
    ready: int = 0
    rank: int | None = None
    active: int = 0
    holders: list[str] = []
    token_at: int | None = None
    beat: int | None = None
    host: str = ""
    condition: str = ""
    silent_since: int | None = None
    tick: int | None = None
    sampled: str = ""
    """Of a pending task: the snapshot of its pool, as the watchdog wrote it."""
    name_paused: int | None = None
    held: int | None = None
    """Since when the name of a pending task is paused; its place, if it left its lane for that."""
    key_running: int = 0
    key_ready: int = 0
    key_waiting: int = 0
    key_rank: int | None = None
    """Its place among the tasks that wait for a turn of its key; None if it does not."""
    key_holders: list[str] = []
    key_token_at: int | None = None
    workers: list[Beat] = []
    alive: int = 0
    open: int = 0
    parent_name: str = ""
    parent_state: str = ""
    parent_kind: str = ""
    parent_parts: int | None = None
    order: int | None = None
    before: Neighbour | None = None
    behind: Neighbour | None = None
    broken: tuple[str, ...] = ()
    """Keys of a wrong type (WRONGTYPE); they count as empty."""
    own: dict[str, Any] = {}
    """What kinds have added in the store, as it came."""

    @property
    def known(self) -> bool:
        """Whether the pool has anything under this id."""
        return bool(self.record or self.states or self.trashed)


def may_be_id(task_id: object) -> bool:
    """Whether this can be a task's id: no `#`, which in a key begins the name of another key of a task."""
    return isinstance(task_id, str) and 0 < len(task_id) <= 200 and "#" not in task_id


def text(value: bytes | None) -> str:
    """Decode any bytes as text."""
    return (value or b"").decode("utf-8", "replace")


def whole(value: bytes | str | int | None, default: int = 0) -> int:
    """Parse an integer; the default if there is none."""
    found = maybe_whole(value)
    return default if found is None else found


def maybe_whole(value: bytes | str | int | None) -> int | None:
    """Parse an integer; None if there is none, as in JSON that a foreign program has written."""
    try:
        found = None if value is None else int(float(value)) if not isinstance(value, int) else value
    except (TypeError, ValueError, OverflowError):
        return None
    return found if found is not None and abs(found) < _MOST else None


def maybe_real(value: bytes | str | None) -> float | None:
    """Parse a finite number; None if there is none."""
    try:
        found = None if value is None else float(value)
    except ValueError:
        return None
    return found if found is not None and math.isfinite(found) else None


def read_object(data: bytes) -> dict[str, Any] | None:
    """Decode a JSON object, with invalid UTF-8 replaced; None for what a foreign program has written instead."""
    try:
        found = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def texts(flat: Iterable[bytes]) -> dict[str, str]:
    """Decode a flat reply as texts."""
    return {text(key): text(value) for key, value in pairs(flat).items()}


def read_beats(rows: Iterable[Sequence[Any]]) -> list[Beat]:
    """Parse workers, as `workers` and `detail` return them."""
    return [Beat(text(worker), whole(beat), texts(flat)) for worker, beat, flat in rows]


def read_detail(pool: str, task_id: str, reply: Sequence[Any]) -> Detail:
    """Parse the reply of `detail`: each field is read as its type says."""
    found = {text(name): value for name, value in zip(reply[::2], reply[1::2], strict=True)}
    detail = Detail(id=task_id, pool=pool, **{name: read(found.get(name)) for name, read in _FIELDS.items()})
    detail.active = max(0, detail.active)
    detail.own = {name: value for name, value in found.items() if name not in _FIELDS}
    return detail


_READ_AS: Mapping[Any, Callable[[Any], Any]] = {
    int: whole,
    int | None: maybe_whole,
    str: text,
    list[bytes]: list,
    list[str]: lambda values: list(map(text, values or ())),
    list[Beat]: read_beats,
    dict[bytes, bytes]: pairs,
    dict[str, str]: texts,
    dict[str, int]: lambda flat: {text(name): whole(value) for name, value in pairs(flat).items()},
    Neighbour | None: lambda row: None if row is None else tuple(map(text, row)),
}
_FIELDS = {
    field.name: _READ_AS[field.type]
    for field in msgspec.structs.fields(Detail)
    if field.name not in ("id", "pool", "broken", "own")
}


def read_begun(alarms: Mapping[bytes, bytes]) -> dict[str, int]:
    """When each alarm began, by its key, from `<began> <last report> <level> <text>`."""
    return {text(key): began for key, told in alarms.items() if (began := whole(text(told).partition(" ")[0]))}
