"""Task record: short field names in Redis, full names here. The fields are those of the kernel and of the kinds."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from operator import methodcaller
from typing import Any, NamedTuple

import msgspec

from queueops.errors import QueueOpsError
from queueops.model import kinds
from queueops.model.fields import Codec
from queueops.model.kind import Kind
from queueops.model.states import TERMINAL, table


class Record(msgspec.Struct, kw_only=True):
    """A task as it is stored. Times are epoch milliseconds, durations milliseconds; payloads are encoded JSON.

    ``uid`` is the generation, which changes when the same id is run again. ``pushed_uid`` is the push's generation, if
    an operator ran it again. ``attempt`` counts attempts that ended in an error or a timeout. ``crashes`` counts starts
    that were lost with their worker. ``handed`` is the fence of a lease that came with a wake-up token, until the
    worker renews it.
    """

    id: str
    name: str
    state: str
    pool: str = "default"
    kind: str = "task"
    lane: str = "default"
    uid: int = 0
    priority: int = 0
    args: bytes = b""
    created: int = 0
    begun: int | None = None
    ended: int | None = None
    due: int | None = None
    attempt: int = 0
    retries: int = 0
    retry: str = ""
    timeout: int | None = None
    fence: int = 0
    handed: int | None = None
    worker: str = ""
    progress: float | None = None
    total: float | None = None
    result: bytes = b""
    error: bytes = b""
    fingerprint: str = ""
    reason: str = ""
    parent_id: str = ""
    parent_uid: int = 0
    parent_pool: str = ""
    root: str = ""
    tags: tuple[str, ...] = ()
    keep: int | None = None
    crashes: int = 0
    trace: str = ""
    meta: bytes = b""
    cancel_requested: str = ""
    cancelled_hard: bool = False
    waited_for: bool = False
    has_more: bool = False
    next: bool = False
    token: str = ""
    operation: str = ""
    phase: str = ""
    previous: bytes | None = None
    expires: str = ""
    limit_key: str = ""
    parts_key: str = ""
    key_limit: int | None = None
    key_rate: str = ""
    unique_for: int | None = None
    unknown_since: int | None = None
    pushed_uid: int | None = None
    last_line: str = ""
    own: dict[str, Any] = {}

    @property
    def push_uid(self) -> int:
        """The generation that the push made, even if the task was run again since."""
        return self.uid if self.pushed_uid is None else self.pushed_uid

    @property
    def is_over(self) -> bool:
        """Whether the task has ended."""
        return self.state in TERMINAL


_NUMBER = re.compile(rb"-?[0-9]{1,16}")
"""A number with more digits is not a time, a count or a generation."""


def reader_of(codec: Codec) -> Callable[[bytes], Any]:
    """What reads a stored value of this codec; None for one that is not readable."""
    return _CODECS[codec]


class Undecodable(QueueOpsError, ValueError):
    """What is stored of a task cannot be read as a record."""


def decode(task_id: str, pool: str, raw: Mapping[bytes, bytes]) -> Record:
    """Read a record from its hash; unknown fields are ignored. Raises Undecodable without a name or a known state.

    An unreadable number counts as absent, as it does for the scripts; the consistency check names it.
    """
    values: dict[str, Any] = {}
    own: dict[str, Any] = {}
    readers, states = _readers(kinds.registered())
    for short, value in raw.items():
        reader = readers.get(short)
        if reader and (found := reader.read(value)) is not None:
            (values if reader.is_attribute else own)[reader.name] = found
    if "name" not in values or "state" not in values:
        raise Undecodable(f"task {task_id} has no {'name' if 'name' not in values else 'state'}")
    if values["state"] not in states:
        raise Undecodable(f"task {task_id} has the state {values['state'][:40]!r}, which is none")
    return Record(id=task_id, pool=pool, own=own, **values)


class _Reader(NamedTuple):
    name: str
    read: Callable[[bytes], Any]
    is_attribute: bool


@cache
def _readers(registered: tuple[Kind, ...]) -> tuple[dict[bytes, _Reader], frozenset[str]]:
    """What reads each field with these kinds, and the known states."""
    readers = {
        short.encode(): _Reader(field.name, _CODECS[field.codec], field.name in Record.__struct_fields__)
        for short, field in kinds.fields_of(registered).items()
    }
    return readers, frozenset(table().states)


_text: Callable[[bytes], str] = methodcaller("decode", "utf-8", "replace")


def _whole(value: bytes) -> int | None:
    return int(value) if _NUMBER.fullmatch(value) else None


def _real(value: bytes) -> float | None:
    """The number, or None unless it is finite: invalid progress must not hide the outcome of a task."""
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


_CODECS: dict[Codec, Callable[[bytes], Any]] = {
    "text": _text,
    "bytes": bytes,
    "whole": _whole,
    "real": _real,
    "flag": lambda value: value == b"1",
    "tags": lambda value: tuple(_text(value).split(",")),
}


def pairs(flat: Iterable[bytes]) -> dict[bytes, bytes]:
    """Turn a flat reply (field, value, ...) into a dictionary."""
    row = iter(flat)
    return dict(zip(row, row, strict=True))
