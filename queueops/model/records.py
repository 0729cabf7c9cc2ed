"""Task record: short field names in Redis, full names here."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from queueops.errors import QueueOpsError
from queueops.model.states import CLASSES, TERMINAL

FIELDS: dict[str, str] = {
    "a": "args",
    "ac": "activated",
    "ag": "again",
    "at": "attempt",
    "ba": "backend",
    "b": "begun",
    "bm": "map_begun",
    "c": "created",
    "cc": "children",
    "ch": "has_chunks",
    "cn": "chunks",
    "cr": "crashes",
    "d": "due",
    "dl": "delay",
    "dn": "iterated",
    "e": "ended",
    "ef": "fingerprint",
    "er": "error",
    "ex": "unexpanded",
    "f": "fence",
    "h": "handed",
    "fb": "failed_by",
    "fd": "follow_ups_dead",
    "fm": "follow_ups_pushed",
    "fu": "follow_ups",
    "fe": "child_error",
    "fo": "ahead_of_chain",
    "ff": "child_fingerprint",
    "fr": "first_failure",
    "fl": "file_before",
    "fx": "file_deleted",
    "it": "of_iterator",
    "k": "kind",
    "kp": "keep",
    "kt": "keep_tasks",
    "l": "lane",
    "ln": "last_line",
    "m": "has_more",
    "mb": "map_retry",
    "me": "meta",
    "mr": "map_retries",
    "mt": "map_timeout",
    "n": "name",
    "nf": "children_failed",
    "nx": "next",
    "mw": "map_written",
    "mx": "max_parallel",
    "oc": "on_chunk_failure",
    "of": "on_failure",
    "og": "follows_uid",
    "oi": "follows",
    "oo": "follows_outcome",
    "op": "follows_pool",
    "ot": "operation",
    "p": "priority",
    "pg": "push_incomplete",
    "ph": "phase",
    "pi": "parent_id",
    "pc": "counted",
    "pl": "planted_weight",
    "po": "parent_round",
    "pp": "parent_pool",
    "pr": "progress",
    "pu": "parent_uid",
    "pv": "previous",
    "pw": "weight",
    "qp": "root_pool",
    "r": "retries",
    "ra": "run_after",
    "rb": "reduce_retry",
    "rd": "chunks_to_redo",
    "re": "result",
    "ro": "root",
    "rk": "resumed_children",
    "rn": "round",
    "rp": "retry",
    "rq": "tasks_to_come",
    "rr": "reduce_retries",
    "rs": "resumes",
    "rt": "reduce_timeout",
    "rw": "chunks_redone_by",
    "s": "state",
    "se": "emission",
    "si": "ignores_previous",
    "sn": "next_cursor",
    "st": "cursor",
    "sw": "answer",
    "sx": "successor",
    "sz": "results_size",
    "t": "timeout",
    "tc": "tasks_cancelled",
    "tf": "tasks_failed",
    "tg": "tags",
    "tk": "token",
    "tn": "turn_came",
    "to": "total",
    "tp": "top",
    "tr": "trace",
    "tv": "turn_previous",
    "tx": "tasks_stopped",
    "u": "uid",
    "uk": "unknown_since",
    "uc": "uncounted",
    "un": "unable_workers",
    "uo": "pushed_uid",
    "w": "worker",
    "wi": "window",
    "wt": "waited_for",
    "x": "cancel_requested",
    "xh": "cancelled_hard",
    "xd": "chunks_dropped",
    "xm": "longest_chunk_ms",
    "xn": "longest_chunk",
    "xp": "chunk_retry",
    "xr": "chunk_retries",
    "xt": "chunk_timeout",
    "xw": "chunks_per_worker",
    "y": "reason",
}
"""Every field of a record: its name in Redis, its name in Python."""


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
    keep_tasks: int | None = None
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
    max_parallel: int | None = None
    chunks_per_worker: int | None = None
    on_chunk_failure: str = ""
    chunk_retries: int = 0
    chunk_retry: str = ""
    chunk_timeout: int | None = None
    reduce_retries: int | None = None
    reduce_retry: str = ""
    reduce_timeout: int | None = None
    map_retries: str = ""
    map_retry: str = ""
    map_timeout: str = ""
    map_written: int | None = None
    map_begun: int | None = None
    has_chunks: bool = False
    chunks: int | None = None
    chunks_dropped: int = 0
    longest_chunk_ms: int | None = None
    longest_chunk: int | None = None
    chunks_to_redo: str = ""
    chunks_redone_by: str = ""
    previous: bytes | None = None
    ignores_previous: bool = False
    delay: int | None = None
    children: int | None = None
    children_failed: int = 0
    results_size: int = 0
    activated: int = 0
    on_failure: str = ""
    push_incomplete: bool = False
    root_pool: str = ""
    top: str = ""
    of_iterator: bool = False
    round: int = 0
    parent_round: int = 0
    counted: float | None = None
    planted_weight: float | None = None
    weight: float | None = None
    resumes: str = ""
    cursor: bytes = b""
    next_cursor: bytes = b""
    answer: str = ""
    emission: str = ""
    iterated: bool = False
    unexpanded: bool = False
    uncounted: bool = False
    again: bool = False
    turn_came: bool = False
    turn_previous: bytes | None = None
    successor: str = ""
    ahead_of_chain: bool = False
    window: int | None = None
    tasks_failed: int = 0
    tasks_cancelled: int = 0
    tasks_stopped: int = 0
    tasks_to_come: int = 0
    failed_by: str = ""
    first_failure: str = ""
    child_error: bytes = b""
    child_fingerprint: str = ""
    resumed_children: int = 0
    unable_workers: bool = False
    unknown_since: int | None = None
    pushed_uid: int | None = None
    last_line: str = ""
    follow_ups: bytes = b""
    follow_ups_pushed: str = ""
    follow_ups_dead: int = 0
    follows: str = ""
    follows_uid: int = 0
    follows_pool: str = ""
    follows_outcome: str = ""
    backend: str = ""
    run_after: str = ""

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
WHOLE = frozenset(
    (
        *("uid", "priority", "created", "begun", "ended", "due", "attempt", "retries", "timeout"),
        *("fence", "handed", "parent_uid", "keep", "keep_tasks", "crashes"),
        *("max_parallel", "chunks_per_worker", "chunk_retries", "chunk_timeout", "reduce_retries", "reduce_timeout"),
        *("chunks", "chunks_dropped", "longest_chunk", "longest_chunk_ms", "pushed_uid", "unknown_since"),
        *("delay", "children", "children_failed", "results_size", "activated", "resumed_children", "window", "round"),
        *("parent_round", "tasks_failed", "tasks_cancelled", "tasks_stopped", "tasks_to_come"),
        *("follow_ups_dead", "follows_uid"),
    )
)
_REAL = frozenset({"progress", "total", "counted", "planted_weight", "weight"})
_OPAQUE = frozenset(
    {
        "args",
        "result",
        "error",
        "meta",
        "previous",
        "cursor",
        "next_cursor",
        "child_error",
        "turn_previous",
        "follow_ups",
    }
)
_FLAGS = frozenset(
    (
        *("waited_for", "next", "has_chunks", "unable_workers", "ignores_previous", "push_incomplete", "iterated"),
        *(
            "unexpanded",
            "uncounted",
            "of_iterator",
            "has_more",
            "again",
            "turn_came",
            "cancelled_hard",
            "ahead_of_chain",
        ),
    )
)


class Undecodable(QueueOpsError, ValueError):
    """What is stored of a task cannot be read as a record."""


def decode(task_id: str, pool: str, raw: Mapping[bytes, bytes]) -> Record:
    """Read a record from its hash; unknown fields are ignored. Raises Undecodable without a name or a known state.

    An unreadable number counts as absent, as it does for the scripts; the consistency check names it.
    """
    values: dict[str, Any] = {}
    for short, value in raw.items():
        full = FIELDS.get(short.decode("utf-8", "replace"))
        if full and (found := _read(full, value)) is not None:
            values[full] = found
    if "name" not in values or "state" not in values:
        raise Undecodable(f"task {task_id} has no {'name' if 'name' not in values else 'state'}")
    if values["state"] not in CLASSES:
        raise Undecodable(f"task {task_id} has the state {values['state'][:40]!r}, which is none")
    return Record(id=task_id, pool=pool, **values)


def _read(field: str, value: bytes) -> Any:
    if field in _OPAQUE:
        return value
    if field in WHOLE:
        return _whole(value)
    if field in _REAL:
        return _real(value)
    if field in _FLAGS:
        return value == b"1"
    text = value.decode("utf-8", "replace")
    return tuple(text.split(",")) if field == "tags" else text


def _whole(value: bytes) -> int | None:
    return int(value) if _NUMBER.fullmatch(value) else None


def _real(value: bytes) -> float | None:
    """The number, or None unless it is finite: invalid progress must not hide the outcome of a task."""
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def pairs(flat: Iterable[bytes]) -> dict[bytes, bytes]:
    """Turn a flat reply (field, value, ...) into a dictionary."""
    row = iter(flat)
    return dict(zip(row, row, strict=True))
