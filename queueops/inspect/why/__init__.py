"""Diagnosis: why a task is not running. Checks in order, each with the value that was read and its remedy."""

from __future__ import annotations

from collections.abc import Iterator

from queueops.inspect.alarm import manage
from queueops.inspect.detail import fields_of, find, state_of
from queueops.inspect.why.findings import Finding, bad
from queueops.inspect.why.parked import parked_findings, waiting_findings
from queueops.inspect.why.runs import ended_findings, leased_findings
from queueops.inspect.why.waiting import ready_findings, timed_findings
from queueops.model import kinds
from queueops.model.sentences import join, say
from queueops.model.states import State, StateClass, table
from queueops.redis.query_replies import Detail

GONE = say("No task has this id: it was never pushed, it was deleted, or its retention ended.")


def why(id: str, pool: str = "") -> list[Finding]:
    """Every check for this task, in order. The first that failed is the reason. `<task>#<number>` is a chunk."""
    for kind in kinds.roles("why") if "#" in id else ():
        if (part := getattr(kind, "part", None)) and (found := part(id, pool)) is not None:
            return list(found)
    detail = find(id, pool)
    if detail is None:
        return [bad(GONE, value=id)]
    if not detail.record and not detail.states:
        return [bad(say("The task was deleted and is in the trash."), verb="restore", target=id)]
    return list(_findings(detail))


def state_and_reason(pool: str, task_id: str) -> tuple[str, str]:
    """For a wait that timed out: the task's state, and the first check that failed with its cause, read at one moment.

    Of a running task without a failed check its run time. Empty for an ended task, and if all checks passed.
    """
    detail = find(task_id, pool)
    state = state_of(detail) if detail is not None else ""
    if detail is None or table().classes.get(state, StateClass.TERMINAL) is StateClass.TERMINAL:
        return "", ""
    first = ""
    for finding in _findings(detail):
        if not finding.ok:
            return state, join(finding.text, finding.value) if finding.is_cause else finding.text
        first = first or finding.text
    return state, first if table().classes[state] is StateClass.LEASED else ""


def _findings(detail: Detail) -> Iterator[Finding]:
    if detail.broken:
        reason = say("Another program wrote to keys of this pool. They count as empty: delete or restore them.")
        yield bad(reason, value="; ".join(detail.broken))
    yield from _indexes(detail)
    state = state_of(detail)
    if state not in table().classes:
        yield bad(say("Unknown state. A newer version of QueueOps may have written this record."), value=state)
        return
    record = fields_of(detail)
    match table().classes[state]:
        case StateClass.READY:
            yield from waiting_findings(detail, record, State(state))
            yield from ready_findings(detail)
        case StateClass.TIMED:
            yield from waiting_findings(detail, record, State(state))
            yield from timed_findings(detail, record, State(state))
        case StateClass.LEASED:
            yield from leased_findings(detail, record)
        case StateClass.PARKED:
            yield from parked_findings(detail, record, State(state))
        case StateClass.TERMINAL:
            yield from ended_findings(detail, record, State(state))


def _indexes(detail: Detail) -> Iterator[Finding]:
    """Whether the indexes agree with the record: workers and readers find a task only by its indexes."""
    state, named = state_of(detail), ", ".join(sorted(detail.states)) or say("none")
    check = manage("queue", "fsck")
    if set(detail.states) != {state}:
        yield bad(
            say("The state indexes do not match the record. Run `%(command)s`.", command=check),
            value=say("record: %(state)s, indexes: %(indexes)s", state=state or say("none"), indexes=named),
        )
    if state == State.PENDING and detail.rank is None and detail.held is None and detail.key_rank is None:
        yield bad(say("The task is ready, but no lane holds it. Run `%(command)s`.", command=check), value=detail.lane)
    if state in table().on_agenda and detail.due is None:
        text = say("The task has no entry in the agenda. Run `%(command)s`.", command=check)
        yield bad(text, value=say("not on the agenda"))
