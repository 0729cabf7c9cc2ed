"""Why a task that is over ended as it did, in the same form as the checks of one that is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from queueops.inspect.answers import Finding
from queueops.inspect.errors import read_failure, title
from queueops.inspect.findings import bad, good
from queueops.inspect.spans import clock, span
from queueops.redis.facts import Detail, maybe_whole, whole
from queueops.states import State


def ended_findings(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding]:
    """How it ended, and how long it is kept."""
    yield {State.SUCCEEDED: _succeeded, State.FAILED: _failed, State.CANCELLED: _cancelled}[state](detail, record)
    if record.get("nx") == "1":
        yield good("A next generation of this id waits for its turn.")
    if detail.due is not None:
        left = span(detail.due - detail.now)
        yield good(f"It is kept for {left} more.", value=clock(detail.due), verb="keep", target=detail.id)


def _succeeded(detail: Detail, record: Mapping[str, str]) -> Finding:
    begun, ended = maybe_whole(record.get("b")), maybe_whole(record.get("e"))
    took = f" after {span(ended - begun)}" if begun is not None and ended is not None else ""
    attempts = whole(record.get("at"))
    tries = f", {attempts} attempts before had failed" if attempts else ""
    return good(f"It succeeded{took}{tries}.", value=record.get("w", ""), verb="retry", target=detail.id)


def _failed(detail: Detail, record: Mapping[str, str]) -> Finding:
    error = title(read_failure(detail.record.get(b"er", b"")))
    reason = record.get("y", "")
    if reason:
        return bad(f"It failed: {reason}.", value=error, verb="retry", target=detail.id)
    attempts, allowed = whole(record.get("at")), whole(record.get("r")) + 1
    last = "its last allowed attempt failed" if attempts >= allowed else "this error is not to be retried"
    return bad(f"It failed: {last} (attempt {attempts} of {allowed}).", value=error, verb="retry", target=detail.id)


def _cancelled(detail: Detail, record: Mapping[str, str]) -> Finding:
    reason = record.get("y") or record.get("x") or "no reason was given"
    return bad("It was cancelled.", value=reason, verb="retry", target=detail.id)
