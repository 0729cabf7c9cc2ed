"""Rules of plain tasks: what each call does to a record. A store reads a record, applies a rule, and writes it.

The rules are those of the Lua library, without what a store may leave out. The caller makes reading, rule and writing
one atomic step. The rules change the record in place, and return a line for the task's log where there is one.
A new number, where a rule asks for one, is higher than all that the store gave before, also to deleted tasks.
"""

from __future__ import annotations

import time
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from queueops.conf import Settings
from queueops.model import kinds
from queueops.model.contracts import Conflict, Extend, Lease, Outcome, Push, Pushed, RoundTrip, Row, Settlement
from queueops.model.fields import KERNEL_FIELDS
from queueops.model.records import Record
from queueops.model.states import TERMINAL, TIMED, State, states_allowing

Line = dict[str, Any]

_OF_A_LEASE = set(Lease.__struct_fields__) & set(Record.__struct_fields__) - {"attempt", "own"}
_OF_A_PUSH = ("id", "name", "pool", "kind", "lane", "priority", "args", "retries", "retry", "tags", "root", "meta")
_FORGOTTEN: dict[str, Any] = {
    "result": b"",
    "error": b"",
    "fingerprint": "",
    "reason": "",
    "ended": None,
    "cancel_requested": "",
    "cancelled_hard": False,
    "attempt": 0,
    "crashes": 0,
    "due": None,
    "progress": None,
    "unknown_since": None,
}
"""What a retry of an ended task clears."""
CRASH_PAUSE_MS = 1000


def recorded(push: Push, uid: int, now: int) -> Record:
    """The record of a new task, as the generation ``uid``."""
    values = {name: getattr(push, name) for name in _OF_A_PUSH}
    due = push.due if push.delay_ms is None else now + push.delay_ms
    later = due is not None and due > now
    record = Record(
        state=State.POSTPONED if later else State.PENDING,
        uid=uid,
        created=now,
        due=due if later else None,
        timeout=push.timeout_ms,
        keep=push.keep_ms,
        trace=push.trace,
        token=push.token,
        **values,
    )
    for short, value in push.own:
        if short in KERNEL_FIELDS:
            setattr(record, KERNEL_FIELDS[short].name, float(value) if short in ("to", "pr") else value)
        else:
            record.own[kinds.fields()[short].name] = value
    return record


def placed(known: Record | None, push: Push, uid: int, now: int) -> tuple[Record | None, Pushed]:
    """What a push does whose id ``known`` may have: the new record, or None, and the answer."""
    word = _word(known, push)
    if known is not None and word not in ("OK", "REPLACED"):
        return None, Pushed(push.id, known.push_uid, word)
    record = recorded(push, uid, now)
    record.fence = uid  # above every earlier one of this id
    return record, Pushed(push.id, uid, word, now if word == "OK" else 0)


def _word(known: Record | None, push: Push) -> str:
    if known is None:
        return "OK"
    if push.conflict is Conflict.NEW or (push.token and push.token == known.token):
        return "REPEAT"
    if known.is_over:
        return "OK"
    if push.conflict is Conflict.REJECT:
        return "REJECTED"
    postponed = known.state == State.POSTPONED
    replaces = push.conflict is Conflict.REPLACE or (push.conflict is Conflict.REPLACE_POSTPONED and postponed)
    return "REPLACED" if replaces else "EXISTS"


def claimed(record: Record, worker: str, now: int, number: int) -> Lease:
    """A worker gets a pending task. Its fence is a new ``number``, so a deleted task of this id had a lower one."""
    wait_ms = max(0, now - (record.due or record.created))
    record.state, record.fence, record.worker, record.begun = State.LOCKED, number, worker, now
    return msgspec.structs.replace(lease_of(record), wait_ms=wait_ms)


def lease_of(record: Record) -> Lease:
    """The lease of a running task."""
    values = {name: getattr(record, name) for name in _OF_A_LEASE}
    return Lease(
        attempt=record.attempt + 1,
        timeout_ms=record.timeout,
        begun_ms=record.begun or 0,
        created_ms=record.created,
        own=dict(record.own),
        received=time.monotonic(),
        **values,
    )


def holds(record: Record | None, fence: int) -> str:
    """Whether a lease is current: OK, STALE, GONE, or REPEAT if its task has ended under it."""
    if record is None:
        return "GONE"
    return "STALE" if record.fence != fence else "OK" if record.state == State.LOCKED else "REPEAT"


def serves(trip: RoundTrip, lane: str, kind: str) -> bool:
    """Whether a round trip claims tasks of this lane and kind."""
    if any(fnmatchcase(lane, pattern[1:]) for pattern in trip.lanes if pattern.startswith("^")):
        return False
    wanted = [pattern for pattern in trip.lanes if not pattern.startswith("^")]
    if wanted and not any(fnmatchcase(lane, pattern) for pattern in wanted):
        return False
    taken = [each for each in trip.kinds if not each.startswith("!")]
    return f"!{kind}" not in trip.kinds and (not taken or kind in taken)


def noted(
    record: Record, now: int, *, done: float | None, total: float | None, line: bytes, number: int
) -> Line | None:
    """A running task reports progress or a line, under a lease that `holds`."""
    record.progress = record.progress if done is None else done
    record.total = record.total if total is None else total
    mark = f"{record.fence}:{number}"
    if not line or (number and record.last_line == mark):  # written before: the answer was lost
        return None
    record.last_line = mark
    return {"t": now, "k": "log", "text": line.decode("utf-8", "replace")}


def moment(record: Record, settings: Settings, now: int, renewed: Extend | None = None) -> int | None:
    """When something is due with a task: the end of its lease, of its delay or of its retention."""
    if record.state == State.LOCKED:
        lease, left = round(settings.lease * 1000), -1 if renewed is None else renewed.left_ms
        return now + (lease if left < 0 else min(lease, left))
    if record.is_over:
        kept = round(settings.retention[record.state] * 1000) if record.keep is None else record.keep
        return (record.ended or now) + kept
    return record.due if record.state in TIMED else None


def due(record: Record, settings: Settings, now: int) -> Line | None:
    """The `moment` of a task has come that has not ended: its delay is over, or its lease has expired."""
    if record.state == State.LOCKED:
        text = f"its lease expired: it was not renewed by worker {record.worker or '?'}"
        record.fence += 1
        return _crash(record, text, settings, now, charged=True)
    record.state, record.due = State.PENDING, None
    return None


def settled(record: Record, end: Settlement, settings: Settings, now: int) -> Line | None:
    """A lease ends, which `holds`."""
    if end.outcome is Outcome.UNKNOWN:
        record.unknown_since = record.unknown_since or now
    elif end.outcome is not Outcome.RELEASE:  # the task ran, so a worker knows its name
        record.unknown_since = None
    if end.outcome in (Outcome.ERROR, Outcome.TIMEOUT):
        return _failed(record, end, now)
    if end.outcome is Outcome.CRASH:
        text = end.value.decode("utf-8", "replace")
        return _crash(record, text, settings, now, charged=end.delay_ms == 0)
    _settle(record, end, end.value.decode("utf-8", "replace"), settings, now)
    return None


def _settle(record: Record, end: Settlement, value: str, settings: Settings, now: int) -> None:
    match end.outcome:
        case Outcome.SUCCESS:
            record.progress = record.progress if record.total is None else record.total
            record.result = end.value
            _over(record, State.SUCCEEDED, now)
        case Outcome.QUARANTINE:
            record.state, record.reason = State.QUARANTINED, value
        case Outcome.CANCEL:
            record.reason = value
            _over(record, State.CANCELLED, now)
        case _ if record.cancel_requested:
            record.reason = record.cancel_requested
            _over(record, State.CANCELLED, now)
        case Outcome.RELEASE:
            record.state = State.PENDING
        case Outcome.UNKNOWN if now - (record.unknown_since or now) > settings.unknown_after * 1000:
            record.state, record.reason = State.QUARANTINED, value
        case _:
            _restart(record, end, value, now)


def _restart(record: Record, end: Settlement, value: str, now: int) -> None:
    record.attempt += end.counted
    if end.counted and record.attempt > record.retries:
        record.reason = "restarted itself more often than its retries allow"
        _over(record, State.FAILED, now)
    else:
        record.reason = value if end.outcome is Outcome.UNKNOWN else record.reason
        _again(record, State.POSTPONED, end.delay_ms, now)


def _failed(record: Record, end: Settlement, now: int) -> Line:
    line = {"t": now, "k": "error", "attempt": record.attempt + 1, "begun": record.begun, "worker": record.worker}
    line["error"] = end.value.decode("utf-8", "replace")
    if record.cancel_requested:
        record.reason = record.cancel_requested
        _over(record, State.CANCELLED, now)
        return line
    record.attempt, record.error, record.fingerprint = record.attempt + 1, end.value, end.fingerprint
    if end.delay_ms < 0 or record.attempt > record.retries:
        _over(record, State.FAILED, now)
    else:
        _again(record, State.RESTART, end.delay_ms, now)
    return line


def _crash(record: Record, reason: str, settings: Settings, now: int, *, charged: bool) -> Line:
    record.crashes += charged
    line = {"t": now, "k": "crash", "crash": record.crashes, "begun": record.begun, "worker": record.worker}
    if record.cancel_requested:
        record.reason = record.cancel_requested
        _over(record, State.CANCELLED, now)
    elif record.crashes >= settings.max_crashes:
        record.error, record.reason = b"", f"lost its worker {record.crashes} times: {reason}"
        _over(record, State.FAILED, now)
    else:
        record.reason = reason
        _again(record, State.RESTART, CRASH_PAUSE_MS * record.crashes, now)
    return line | {"text": reason}


def _over(record: Record, state: State, now: int) -> None:
    record.state, record.ended, record.due = state, now, None


def _again(record: Record, state: State, delay_ms: int, now: int) -> None:
    record.state, record.due = state, now + max(0, delay_ms)


def acted(
    record: Record | None, id: str, verb: str, value: str | int, now: int, uid: int, *, hard: bool, token: str
) -> Row:
    """An action of an operator or a producer. ``uid`` is a new number, for the next generation of a retried task."""
    if record is None:
        return Row(id, "GONE", "")
    if token and record.operation == token:
        return Row(id, "REPEAT", record.state)
    if record.state not in states_allowing(verb):
        return Row(id, "REFUSED", record.state, f"{verb} is not possible while it is {record.state}")
    if (act := _VERBS.get(verb)) is None:
        return Row(id, "REFUSED", record.state, f"the store does not offer the action {verb}")
    detail = act(record, value, now, uid, hard)
    record.operation = token or record.operation
    return Row(id, "OK", record.state, detail)


def _cancel(record: Record, value: str | int, now: int, uid: int, hard: bool) -> str:
    reason = str(value) or "cancelled by an operator"
    if record.state == State.LOCKED:
        record.cancel_requested, record.cancelled_hard = reason, hard or record.cancelled_hard
        return "told the worker to interrupt it" if hard else "asked the worker to stop it"
    record.reason = str(value)
    _over(record, State.CANCELLED, now)
    return ""


def _retry(record: Record, value: str | int, now: int, uid: int, hard: bool) -> str:
    if record.state in TERMINAL:
        for name, empty in _FORGOTTEN.items():
            setattr(record, name, empty)
        record.pushed_uid, record.uid = record.push_uid, uid
    if value not in ("", "all"):  # new arguments
        record.args = b"" if value == "-" else str(value).encode()
    return _ready(record, value, now, uid, hard)


def _ready(record: Record, value: str | int, now: int, uid: int, hard: bool) -> str:
    if record.state == State.LOCKED and record.cancel_requested:
        record.reason = record.cancel_requested
        _over(record, State.CANCELLED, now)
    else:
        record.state, record.due = State.PENDING, None
    record.fence += 1
    return ""


def _requeue(record: Record, value: str | int, now: int, uid: int, hard: bool) -> str:
    record.reason, record.cancel_requested, record.cancelled_hard, record.unknown_since = "", "", False, None
    return _ready(record, value, now, uid, hard)


def _postpone(record: Record, value: str | int, now: int, uid: int, hard: bool) -> str:
    until = str(value)
    record.state = State.POSTPONED
    record.due = now + int(until[1:]) if until.startswith("+") else int(until)
    return ""


def _prioritise(record: Record, value: str | int, now: int, uid: int, hard: bool) -> str:
    record.priority = int(value)
    return ""


_VERBS = {
    "cancel": _cancel,
    "retry": _retry,
    "run_now": _ready,
    "release": _ready,
    "requeue": _requeue,
    "postpone": _postpone,
    "priority": _prioritise,
}
