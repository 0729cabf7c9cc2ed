"""Questions about runs of workflows: the story of a run, what it waits for, and what waits for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from queueops.inspect.answers import Answer
from queueops.inspect.redaction import redactor
from queueops.kinds.workflows import events
from queueops.kinds.workflows.events import Entry
from queueops.kinds.workflows.run_list import (
    RunFacts,
    RunPage,
    masked,
    places_of,
    run_query,
    runs_of_instance,
    workflow_runs,
)
from queueops.kinds.workflows.run_spans import RunLine, RunSpan, spans_of
from queueops.kinds.workflows.run_store import task_of
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.model.records import Record
from queueops.model.states import TIMED
from queueops.redis.broker import get_role
from queueops.redis.query_replies import may_be_id, maybe_whole

__all__ = [
    "RunCall",
    "RunFacts",
    "RunLine",
    "RunPage",
    "RunSpan",
    "RunView",
    "run_query",
    "runs_of_instance",
    "workflow_run",
    "workflow_runs",
]

PAGE = 200
"""Entries of the history on one page."""
MOST_CALLS = 100


class RunCall(Answer, frozen=True, kw_only=True):
    """A command whose end has not come: an activity, a child or a timer."""

    TEXTS_OF_TASKS: ClassVar = ("detail", "reason")

    number: int
    kind: str
    task: str = ""
    pool: str = ""  # of the task, if it is not that of the run
    name: str = ""
    state: str = ""
    attempt: int = 0  # attempts that failed
    retries: int = 0
    due_ms: int | None = None
    begun_ms: int | None = None  # when its attempt began
    worker: str = ""
    progress: float | None = None  # as `current().progress` told last
    total: float | None = None
    detail: str = ""  # the last line of its log
    reason: str = ""


class RunView(Answer, frozen=True, kw_only=True):
    """A run: what it waits for, its history from an entry on, and its place among the runs of its instance."""

    instance: str
    before: str = ""
    after: str = ""
    parent: str = ""
    status: str = ""
    suspended_ms: int | None = None
    blocked_ms: int | None = None
    blocked_times: int = 0
    reason: str = ""
    late: int = 0
    where: tuple[str, ...] = ()
    calls: tuple[RunCall, ...] = ()
    more_calls: int = 0
    inbox: tuple[RunLine, ...] = ()
    waiting_events: int = 0
    length: int = 0
    first: int = 0
    lines: tuple[RunLine, ...] = ()
    spans: tuple[RunSpan, ...] = ()

    @property
    def next(self) -> int:
        """Where the next page begins; 0 if there is none."""
        following = self.first + len(self.lines)
        return following if following < self.length else 0


def workflow_run(id: str, pool: str = "default", *, first: int = 0) -> RunView | None:
    """A run, with a page of its history from entry `first` on. None if there is no such run."""
    store = get_role(WorkflowCalls)
    row = store.run_row(pool, id) if may_be_id(id) else None
    if row is None:
        return None
    fields = row.fields
    first = max(0, min(first, row.history))
    lines = _lines(store.history(pool, id, first, PAGE), first)
    open_tasks = {
        int(number): task_of(what)[0] for number, what in row.calls.items() if number.isdigit() and what[:1] != "t"
    }
    calls = sorted(row.calls.items(), key=lambda item: int(item[0]) if item[0].isdigit() else 0)
    return RunView(
        instance=fields.get("vi", id),
        before=fields.get("vp", ""),
        after=fields.get("vx", ""),
        parent=fields.get("vr", ""),
        status=masked(fields["vq"].encode()) if "vq" in fields else "",
        suspended_ms=maybe_whole(fields.get("vs")),
        blocked_ms=maybe_whole(fields.get("vb")),
        blocked_times=maybe_whole(fields.get("vc")) or 0,
        reason=redactor().message(fields.get("y", "")),
        late=maybe_whole(fields.get("vl")) or 0,
        where=places_of(fields),
        calls=tuple(_call(store, pool, number, what) for number, what in calls[:MOST_CALLS]),
        more_calls=max(0, row.open - MOST_CALLS),
        inbox=_lines(store.inbox(pool, id, MOST_CALLS), 0),
        waiting_events=row.inbox,
        length=row.history,
        first=first,
        lines=lines,
        spans=spans_of(lines, "" if "vo" in fields else id, open_tasks),
    )


def _call(store: WorkflowCalls, pool: str, number: str, what: str) -> RunCall:
    kind = {"a": "activity", "c": "child", "t": "timer", "s": "signal"}.get(what[:1], "?")
    at = int(number) if number.isdigit() else 0
    if kind == "signal":
        return RunCall(number=at, kind=kind, state="on its way")
    if kind == "timer":
        return RunCall(number=at, kind=kind, due_ms=maybe_whole(what[1:]))
    id, elsewhere = task_of(what)
    record: Record | None = store.record(elsewhere or pool, id)
    if record is None:
        return RunCall(number=at, kind=kind, task=id, pool=elsewhere, state="on its way" if elsewhere else "gone")
    return RunCall(
        number=at, kind=kind, task=record.id, pool=elsewhere, name=record.name, state=record.state,
        attempt=record.attempt, retries=record.retries, due_ms=record.due if record.state in TIMED else None,
        begun_ms=record.begun, worker=record.worker, progress=record.progress, total=record.total,
        detail=record.last_line, reason=record.reason,
    )  # fmt: skip


def _lines(texts: Sequence[bytes], first: int) -> tuple[RunLine, ...]:
    return tuple(_line(number, text) for number, text in enumerate(texts, first + 1))


def _line(number: int, text: bytes) -> RunLine:
    try:
        entry = events.decode(text)
    except msgspec.MsgspecError:  # written by other software
        return RunLine(number=number, kind="?", text="an entry that cannot be read")
    due = entry.at_ms if entry.kind == "timer" else None
    return RunLine(
        number=number,
        kind=entry.kind,
        at_ms=None if due else entry.at_ms or None,
        command=entry.command,
        name=entry.name,
        task=entry.instance,
        due_ms=due,
        text=_text(entry),
    )


def _text(entry: Entry) -> str:
    if entry.kept:
        return f"{entry.size:,} bytes, which are kept apart"
    if entry.payload is not events.NOTHING:
        return masked(bytes(entry.payload))
    if entry.error is not events.NOTHING:
        return masked(bytes(entry.error))
    return redactor().message(entry.reason) if entry.reason else entry.state
