"""Diagnosis of ended tasks: how a task ended, in the same form as the checks of an open task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from queueops.inspect.chunks import chunks_of
from queueops.inspect.errors import read_failure, title
from queueops.inspect.findings import bad, good
from queueops.inspect.models import Finding
from queueops.inspect.spans import clock, span
from queueops.model.states import CONTAINERS, TERMINAL, State
from queueops.redis.query_replies import Detail, maybe_whole, text, whole

OPEN = ("failed", "errored", "active", "pending")


def ended_findings(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding]:
    """The outcome, and how long the task is kept."""
    yield {State.SUCCEEDED: _succeeded, State.FAILED: _failed, State.CANCELLED: _cancelled}[state](detail, record)
    yield from _chunks(detail, record, state)
    if record.get("nx") == "1":
        yield good("A next generation of this id waits for its turn.")
    if detail.due is not None:
        left = span(detail.due - detail.now)
        yield good(f"It is kept for {left} more.", value=clock(detail.due), verb="keep", target=detail.id)


def retried_by(detail: Detail, state: str) -> str:
    """The chain or group that runs this ended part again; empty if the part can be retried alone."""
    is_part = detail.parent_kind in CONTAINERS or (b"pp" in detail.record and b"it" not in detail.record)
    return text(detail.record.get(b"pi")) if is_part and state in TERMINAL else ""


def goes_on_at(record: Mapping[str, str], state: str) -> str:
    """The stage at which a retry continues an ended map-reduce task: `map`, `process` or `reduce`; empty for others."""
    if record.get("k") != "mapreduce" or state not in TERMINAL:
        return ""
    if "ch" not in record or "cn" not in record:
        return "map"
    return "reduce" if record.get("ph") else "process"


def _chunks(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding]:
    """What a retry of a map-reduce task keeps, and what it runs."""
    stage = goes_on_at(record, state)
    if stage in ("process", "reduce") and (view := chunks_of(detail.id, detail.pool, count=1)):
        done = f"{view.counts['done']:,} of {view.total:,} chunks are done"
        if stage == "reduce":
            yield good("A retry runs its reduce again, with the results of its chunks.", value=done)
            return
        counts = ", ".join(f"{view.counts[name]:,} {name}" for name in OPEN if view.counts[name])
        yield good(f"A retry runs the chunks that are not done ({counts}), then the reduce.", value=done)


def _succeeded(detail: Detail, record: Mapping[str, str]) -> Finding:
    begun, ended = maybe_whole(record.get("b")), maybe_whole(record.get("e"))
    took = f" after {span(ended - begun)}" if begun is not None and ended is not None else ""
    attempts = whole(record.get("at"))
    tries = f", {attempts} attempts before had failed" if attempts else ""
    return good(f"It succeeded{took}{tries}.", record.get("w", ""), "retry", _retried(detail))


def _failed(detail: Detail, record: Mapping[str, str]) -> Finding:
    error = title(read_failure(detail.record.get(b"er", b"")))
    reason = record.get("y", "")
    if reason:
        return bad(f"It failed: {reason}.", error, "retry", _retried(detail))
    attempts, allowed = whole(record.get("at")), whole(record.get("r")) + 1
    last = "its last allowed attempt failed" if attempts >= allowed else "this error is not to be retried"
    return bad(f"It failed: {last} (attempt {attempts} of {allowed}).", error, "retry", _retried(detail))


def _cancelled(detail: Detail, record: Mapping[str, str]) -> Finding:
    reason = record.get("y") or record.get("x") or "no reason was given"
    return bad("It was cancelled.", reason, "retry", _retried(detail))


def _retried(detail: Detail) -> str:
    """The task to retry so that this one runs again: itself, or its chain or group."""
    return retried_by(detail, text(detail.record.get(b"s"))) or detail.id
