"""Checks of a task that waits for an earlier one or for what its kind knows, or that is in quarantine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from queueops.inspect.why.findings import Finding, bad
from queueops.model import kinds
from queueops.model.sentences import say
from queueops.model.states import State
from queueops.redis.query_replies import Detail


def waiting_findings(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding]:
    """What a kind knows of a ready or timed task of its own, before the checks of every task."""
    for kind in kinds.roles("why"):
        if waiting := getattr(kind, "waiting", None):
            yield from waiting(detail, record, state)


def parked_findings(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding]:
    """What the task waits for."""
    if state is State.QUARANTINED:
        verb = "requeue" if b"s" in detail.record and b"n" in detail.record else "discard"
        reason = record.get("y") or say("its record cannot be read")
        text = say("The task is quarantined, so that it blocks no other task.")
        if "uk" in record:
            text = say(
                "The task is quarantined, because no worker knew its name. Deploy code with this name to the workers"
                " first, then requeue it. To requeue it without that quarantines it again."
            )
        yield bad(text, value=reason, verb=verb, target=detail.id)
        return
    for kind in kinds.roles("why"):
        if (findings := kind.parked(detail, record, state)) is not None:
            yield from findings
            return
    text = say("The task waits in the state %(state)s.", state=state)
    if state is State.WAITING:
        text = say("The task waits for the end of an earlier task.")
    yield bad(text, value=record.get("y", ""), verb="cancel", target=detail.id)
