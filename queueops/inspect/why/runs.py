"""Checks of a task's present run, and of the outcome of an ended task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from queueops.inspect.detail import retried_by
from queueops.inspect.errors import read_failure, title
from queueops.inspect.spans import clock, span
from queueops.inspect.store import LATE_MS, UNRESPONSIVE
from queueops.inspect.why.findings import Finding, bad, good
from queueops.model import kinds
from queueops.model.sentences import join, say, say_n
from queueops.model.states import State
from queueops.model.stored_sentences import TYPED, Stored
from queueops.redis.query_replies import Detail, maybe_whole, text, whole


def leased_findings(detail: Detail, record: Mapping[str, str]) -> Iterator[Finding]:
    """Its worker, its lease, and whether it was asked to stop."""
    begun, worker = whole(record.get("b")), record.get("w", "?")
    yield good(say("The task has run for %(time)s.", time=span(detail.now - begun)), value=worker, target=worker)
    yield _holder(detail, worker)
    left = (detail.due or 0) - detail.now
    if left < 0:
        tick = say("no watchdog has run yet")
        if detail.tick:
            tick = say("the last watchdog ran %(time)s ago", time=span(detail.now - detail.tick))
        yield bad(
            say("Its lease ended %(time)s ago; %(watchdog)s.", time=span(-left), watchdog=tick),
            value=clock(detail.due or 0),
            verb="release",
            target=detail.id,
        )
    else:
        text = say("Its lease ends in %(time)s unless the worker renews it.", time=span(left))
        yield good(text, value=clock(detail.due or 0))
    if reason := record.get("x"):
        text = say(
            "The task was asked to stop, and still runs. A function that is not async must check"
            " current().cancelled. Cancel and interrupt stops the task, or kills its process. Release takes it"
            " from its worker; its code continues there, but the outcome is refused."
        )
        yield bad(text, value=reason, verb="release", target=detail.id)


def ended_findings(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding]:
    """The outcome, and how long the task is kept."""
    yield {State.SUCCEEDED: _succeeded, State.FAILED: _failed, State.CANCELLED: _cancelled}[state](detail, record)
    for kind in kinds.roles("why"):
        yield from kind.ended(detail, record, state)
    if record.get("nx") == "1":
        yield good(say("A later push of this id waits until this task has ended."))
    if detail.due is not None:
        text = say("The task will be deleted in %(time)s.", time=span(detail.due - detail.now))
        yield good(text, value=clock(detail.due), verb="keep", target=detail.id)


def _holder(detail: Detail, worker: str) -> Finding:
    if detail.beat is None:
        return bad(
            say("Its worker is not in the registry. The task is recovered when the lease ends."),
            value=worker,
            verb="release",
            target=detail.id,
        )
    age = detail.now - detail.beat
    where = f"{detail.host} " if detail.host else ""
    if age > LATE_MS:
        return bad(
            say("Its worker has sent no heartbeat for %(time)s.", time=span(age)),
            value=where + worker,
            verb="release",
            target=detail.id,
            place="workers",
        )
    if detail.condition in UNRESPONSIVE:
        return _unresponsive(detail, where + worker)
    text = say("Its worker is alive: the last heartbeat was %(time)s ago.", time=span(age))
    return good(text, value=where + worker)


def _unresponsive(detail: Detail, worker: str) -> Finding:
    """The process of the task cannot run Python code: a task holds the interpreter lock, or it is stopped."""
    text = say(
        "Its worker process has been silent for %(time)s: a task in it holds the interpreter, or the process is"
        " stopped.",
        time=span(detail.now - (detail.silent_since or detail.now)),
    )
    then = say("Its supervisor renews the lease. After HUNG_AFTER the process is killed.")
    if detail.condition == "hung":
        then = say("The process is hung and is about to be killed.")
    return bad(join(text, then), value=worker, verb="interrupt", target=detail.id, place="workers")


def _succeeded(detail: Detail, record: Mapping[str, str]) -> Finding:
    begun, ended = maybe_whole(record.get("b")), maybe_whole(record.get("e"))
    took = say(" after %(time)s", time=span(ended - begun)) if begun is not None and ended is not None else ""
    attempts = whole(record.get("at"))
    tries = say_n(", after %(n)s failed attempt", ", after %(n)s failed attempts", attempts) if attempts else ""
    text = say("The task succeeded%(took)s%(attempts)s.", took=took, attempts=tries)
    return good(text, record.get("w", ""), "retry", _retried(detail))


def _failed(detail: Detail, record: Mapping[str, str]) -> Finding:
    error = title(read_failure(detail.record.get(b"er", b"")))
    reason = Stored(record.get("y", ""))
    if reason:
        return bad(say("The task failed: %(reason)s.", reason=reason), error, "retry", _retried(detail))
    attempts, allowed = whole(record.get("at")), whole(record.get("r")) + 1
    values = {"attempt": str(attempts), "allowed": str(allowed)}
    text = say("The task failed: this error is not retried (attempt %(attempt)s of %(allowed)s).", **values)
    if attempts >= allowed:
        text = say("The task failed: its last allowed attempt failed (attempt %(attempt)s of %(allowed)s).", **values)
    return bad(text, error, "retry", _retried(detail))


def _cancelled(detail: Detail, record: Mapping[str, str]) -> Finding:
    reason = record.get("y") or record.get("x")
    told = Stored(reason, TYPED) if reason else say("no reason was given")
    return bad(say("The task was cancelled."), told, "retry", _retried(detail))


def _retried(detail: Detail) -> str:
    """The task to retry so that this task runs again: itself, or its chain or group."""
    return retried_by(detail, text(detail.record.get(b"s"))) or detail.id
