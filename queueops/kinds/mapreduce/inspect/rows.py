"""Chunk rows and details: parsed from records, redacted, with attempts and permitted actions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from queueops.inspect import task_history
from queueops.inspect.answers import Answer
from queueops.inspect.errors import Failure, read_failure
from queueops.inspect.task_history import Attempt, LogLine
from queueops.kinds.mapreduce.states import AGGREGATING, CHUNK_ACTIONS, REDUCING, ChunkState
from queueops.kinds.mapreduce.store.reader import Single
from queueops.model.encryption import without_sealed
from queueops.model.redact import Redactor, cut, readable
from queueops.model.states import TERMINAL, State
from queueops.redis.query_replies import maybe_whole, text, whole

ROW_FIELDS = ("s", "at", "cr", "b", "e", "d", "c", "w", "ef", "y", "dr")
"""What `chunk_page` returns of each chunk, in the order of FIELDS in `chunk_page.lua`."""
PREVIEW = 160
PAYLOADS = (b"a", b"re", b"er")
ANYWHERE = ("edit", "release")
WHILE_GATHERING = ("speculate", "postpone")
REDOING = ("redo", "set")
"""An edit and a retry in one."""
RESTING = (State.PENDING, State.POSTPONED, State.RESTART)
"""States of a task whose reduce has not begun; its chunks can still be processed again."""


class ChunkFacts(Answer, frozen=True, kw_only=True):
    """Fields of a chunk that lists and its own page show."""

    TEXTS_OF_TASKS: ClassVar = ("reason",)
    STORED: ClassVar = ("reason",)

    number: int
    state: str  # empty when the chunk is gone
    attempt: int  # attempts that ended in an error or a timeout
    crashes: int
    begun_ms: int | None = None
    ended_ms: int | None = None
    due_ms: int | None = None  # time of the next attempt of an errored chunk
    worker: str = ""
    reason: str = ""
    dropped: bool = False  # dropped by an operator
    error: Failure | None = None
    data_size: int = 0
    result_size: int = 0


class ChunkRow(ChunkFacts, frozen=True, kw_only=True):
    """One row of a list of chunks."""

    data: str = ""  # a short, redacted preview


class SecondRun(Answer, frozen=True, kw_only=True):
    """A second run of the same chunk: the first run that succeeds counts."""

    state: str  # pending, active
    worker: str
    begun_ms: int | None


class ChunkDetail(ChunkFacts, frozen=True, kw_only=True):
    """One chunk in full."""

    task_id: str
    pool: str
    name: str
    task_state: str
    retries: int
    timeout_ms: int | None
    deadline_ms: int | None  # the end of its lease
    ahead: int | None = None  # pending chunks of the task that come before it
    data_json: str
    result_json: str
    attempts: tuple[Attempt, ...] = ()
    log: tuple[LogLine, ...] = ()
    second: SecondRun | None = None
    of: int | None = None  # how many chunks the task has, once its map has ended
    allowed: tuple[str, ...] = ()


def chunk_verbs(state: str, task_state: str, phase: str = "") -> tuple[str, ...]:
    """The actions that the engine permits on a chunk: all while its task aggregates, fewer before and after."""
    verbs = tuple(verb for verb in CHUNK_ACTIONS.get(state, ()) if verb not in REDOING)
    if task_state == AGGREGATING:
        return verbs
    if task_state in TERMINAL or (phase and task_state in RESTING):
        return tuple(verb for verb in verbs if verb not in WHILE_GATHERING)
    return tuple(verb for verb in verbs if verb in ANYWHERE) if task_state == REDUCING else ()


def stages(task_state: str, phase: str, *, begun: bool, mapped: bool, open: int) -> tuple[str, ...]:
    """The stages from which the engine restarts a map-reduce task; a running map or reduce is not one of them."""
    rests = bool(phase) and task_state in RESTING
    if task_state == AGGREGATING or task_state in TERMINAL or rests:
        return ("map", "process", "reduce")[: 1 if not mapped else 2 if open else 3]
    return ("map",) if task_state == State.RESTART or (begun and task_state in RESTING) else ()


class Scan(NamedTuple):
    """A scan of one set, or of all chunks: its rows, and the score and number at which it stopped."""

    size: int
    ended: bool
    score: str
    number: str
    rows: tuple[ChunkRow, ...]


def read_scan(reply: Sequence[Any], hide: Redactor) -> Scan:
    """Parse the reply of `chunk_page`."""
    size, ended, score, number, rows = reply
    return Scan(size, bool(ended), text(score), text(number), tuple(_row(row, hide) for row in rows))


def _row(row: Sequence[Any], hide: Redactor) -> ChunkRow:
    number, _score, data_size, result_size, values, data, error = row
    fields = {name: text(value) for name, value in zip(ROW_FIELDS, values, strict=False) if value}
    return ChunkRow(
        **_facts(whole(number), fields),
        error=read_failure(error),
        data=preview(data, hide, PREVIEW) if data else "",
        data_size=data_size,
        result_size=result_size,
    )


def detail_of(id: str, pool: str, number: int, found: Single, hide: Redactor) -> ChunkDetail:
    """The chunk in full."""
    fields = {text(key): text(value) for key, value in found.record.items() if key not in PAYLOADS}
    data, result, error = (found.record.get(payload, b"") for payload in PAYLOADS)
    lines, parent = task_history.read_lines(found.log), found.parent
    if found.lost:
        fields = {"s": ChunkState.FAILED, "y": "its record is lost"}
    state, second = fields.get("s", ""), {text(key): text(value) for key, value in found.second.items()}
    return ChunkDetail(
        **_facts(number, fields),
        error=read_failure(error),
        data_size=len(data),
        result_size=len(result),
        task_id=id,
        pool=pool,
        name=parent.get("n", ""),
        task_state=parent.get("s", ""),
        retries=whole(parent.get("xr")),
        timeout_ms=maybe_whole(parent.get("xt")),
        deadline_ms=found.due if state == ChunkState.ACTIVE else None,
        ahead=found.ahead if state == ChunkState.PENDING else None,
        data_json=hide.document(data) if data else "",
        result_json=hide.document(result) if result else "",
        attempts=(*task_history.attempts(lines, {}), *_last(fields)),
        log=task_history.log(lines, hide),
        second=_second(second),
        of=maybe_whole(parent.get("cn")),
        allowed=("drop",) if found.lost else chunk_verbs(state, parent.get("s", ""), parent.get("ph", "")),
    )


def preview(data: bytes, hide: Redactor, limit: int) -> str:
    """The data of a chunk in one line, redacted and cut."""
    try:
        return cut(json.dumps(hide.value(json.loads(without_sealed(data))), ensure_ascii=False), limit)
    except (ValueError, RecursionError):
        return cut(hide.text(readable(data)), limit)


def _facts(number: int, fields: Mapping[str, str]) -> dict[str, Any]:
    state = fields.get("s", "")
    return {
        "number": number,
        "state": state,
        "attempt": whole(fields.get("at")),
        "crashes": whole(fields.get("cr")),
        "begun_ms": maybe_whole(fields.get("b")),
        "ended_ms": maybe_whole(fields.get("e")),
        "due_ms": maybe_whole(fields.get("d")) if state == ChunkState.ERRORED else None,
        "worker": fields.get("w", ""),
        "reason": fields.get("y", ""),
        "dropped": fields.get("dr") == "1",
    }


def _second(fields: Mapping[str, str]) -> SecondRun | None:
    if not fields.get("s"):
        return None
    return SecondRun(state=fields["s"], worker=fields.get("w", ""), begun_ms=maybe_whole(fields.get("b")))


def _last(fields: Mapping[str, str]) -> tuple[Attempt, ...]:
    """The run in the record: under way, or succeeded."""
    kind = {"active": "running", "done": "succeeded"}.get(fields.get("s", ""))
    run = task_history.run_in(fields, kind) if kind else None
    return () if run is None else (run,)
