"""Questions about runs of workflows: the story of a run, what it waits for, and what waits for it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from queueops.inspect.answers import Answer
from queueops.inspect.errors import read_failure, title
from queueops.inspect.redaction import redactor
from queueops.kinds.workflows import events
from queueops.kinds.workflows.events import Entry
from queueops.kinds.workflows.inspect.run_calls import CallPage, RunCall, RunChildren, open_calls, run_children
from queueops.kinds.workflows.inspect.run_filter import blocked_run_count, plain, run_count, run_counts
from queueops.kinds.workflows.inspect.run_list import (
    RunFacts,
    RunPage,
    died_of,
    masked,
    places_of,
    run_facts,
    run_query,
    runs_of_instance,
    stacks_of,
    workflow_runs,
)
from queueops.kinds.workflows.inspect.run_spans import RunLine, RunSpan, spans_of
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.kinds.workflows.store.run_store import task_of
from queueops.model.sentences import say
from queueops.model.stored_sentences import TYPED, StateWord, Stored
from queueops.redis.broker import get_role
from queueops.redis.query_replies import may_be_id, maybe_whole
from queueops.tasks import registry

__all__ = [
    "RunCall",
    "RunChildren",
    "RunFacts",
    "RunLine",
    "RunPage",
    "RunSpan",
    "RunView",
    "blocked_run_count",
    "run_children",
    "run_count",
    "run_counts",
    "run_facts",
    "run_query",
    "runs_of_instance",
    "workflow_names",
    "workflow_run",
    "workflow_runs",
]

PAGE = 200
"""Entries of the history on one page."""
MOST_EVENTS = 100
"""Events of the inbox on one page."""
SIGNAL = "signal "


class RunView(Answer, frozen=True, kw_only=True):
    """A run: what it waits for, its history from an entry on, and its place among the runs of its instance."""

    instance: str
    before: str = ""
    after: str = ""
    parent: str = ""
    parent_pool: str = ""
    status: str = ""
    suspended_ms: int | None = None
    continued_ms: int | None = None
    blocked_ms: int | None = None
    blocked_times: int = 0
    reason: str = ""
    late: int = 0
    where: tuple[str, ...] = ()
    """Signals that its code waits for, and the innermost place of each waiting coroutine."""
    stacks: tuple[tuple[str, ...], ...] = ()
    """The frames of each waiting coroutine, the outermost first, as `file:line in function`."""
    died: tuple[str, ...] = ()
    """Tasks of its code that have failed, and whose errors no code has awaited."""
    calls: tuple[RunCall, ...] = ()
    more_calls: int = 0
    """Open commands that are on other pages."""
    next_calls: str = ""
    """Where the next page of open commands begins; empty at the end."""
    inbox: tuple[RunLine, ...] = ()
    waiting_events: int = 0
    length: int = 0
    first: int = 0
    lines: tuple[RunLine, ...] = ()
    spans: tuple[RunSpan, ...] = ()

    @property
    def status_text(self) -> str:
        """The status for people: a text without its quotes, other values as JSON."""
        return plain(self.status)

    @property
    def signals(self) -> tuple[str, ...]:
        """The names of the signals that its code waits for."""
        return tuple(place.removeprefix(SIGNAL) for place in self.where if place.startswith(SIGNAL))

    @property
    def next(self) -> int:
        """Where the next page begins; 0 if there is none."""
        following = self.first + len(self.lines)
        return following if following < self.length else 0

    @property
    def next_inbox(self) -> int:
        """Where the next page of the inbox begins; 0 if there is none."""
        last = self.inbox[-1].number if self.inbox else 0
        return last if last < self.waiting_events else 0


def workflow_run(id: str, pool: str = "default", *, first: int = 0, calls: str = "", inbox: int = 0) -> RunView | None:
    """A run, with a page of its history from entry `first` on. None if there is no such run.

    `calls` is the `next_calls` of a page before, and `inbox` the first event of the inbox. Raises FilterError.
    """
    store = get_role(WorkflowCalls)
    row = store.run_row(pool, id) if may_be_id(id) else None
    if row is None:
        return None
    fields = row.fields
    first, inbox = max(0, min(first, row.history)), max(0, min(inbox, row.inbox))
    lines = _lines(store.history(pool, id, first, PAGE), first)
    open_tasks = {
        int(number): task_of(what)[0] for number, what in row.calls.items() if number.isdigit() and what[:1] != "t"
    }
    page = open_calls(pool, id, calls) if row.open or calls else CallPage(())
    return RunView(
        instance=fields.get("vi", id),
        before=fields.get("vp", ""),
        after=fields.get("vx", ""),
        parent=fields.get("vr", ""),
        parent_pool=fields.get("vt", pool) if "vr" in fields else "",
        status=masked(fields["vq"].encode()) if "vq" in fields else "",
        suspended_ms=maybe_whole(fields.get("vs")),
        continued_ms=maybe_whole(fields.get("ve")),
        blocked_ms=maybe_whole(fields.get("vb")),
        blocked_times=maybe_whole(fields.get("vc")) or 0,
        reason=Stored(redactor().message(fields.get("y", ""))),
        late=maybe_whole(fields.get("vl")) or 0,
        where=places_of(fields),
        stacks=tuple(stack for stack in stacks_of(fields) if not stack[0].startswith(SIGNAL)),
        died=died_of(fields),
        calls=page.calls,
        more_calls=max(0, row.open - len(page.calls)),
        next_calls=page.next,
        inbox=_lines(store.inbox(pool, id, MOST_EVENTS, inbox), inbox),
        waiting_events=row.inbox,
        length=row.history,
        first=first,
        lines=lines,
        spans=spans_of(lines, "" if "vo" in fields else id, open_tasks),
    )


def workflow_names() -> tuple[str, ...]:
    """The names of the workflows that this process knows, in order."""
    return tuple(sorted(name for kind, name in registry.handlers() if kind == "workflow"))


def _lines(texts: Sequence[bytes], first: int) -> tuple[RunLine, ...]:
    return tuple(_line(number, text) for number, text in enumerate(texts, first + 1))


def _line(number: int, text: bytes) -> RunLine:
    try:
        entry = events.decode(text)
    except msgspec.MsgspecError:  # written by other software
        return RunLine(number=number, kind="?", text=say("an entry that cannot be read"))
    due = entry.at_ms if entry.kind == "timer" else None
    failure = None if entry.error is events.NOTHING else read_failure(bytes(entry.error))
    return RunLine(
        number=number,
        kind=entry.kind,
        at_ms=None if due else entry.at_ms or None,
        command=entry.command,
        name=entry.name,
        task=entry.instance,
        due_ms=due,
        text=title(failure) if failure else _text(entry),
        failure=failure,
    )


def _text(entry: Entry) -> str:
    if entry.kept:
        return say("%(size)s bytes, which are kept apart", size=entry.size)
    if entry.payload is not events.NOTHING:
        return masked(bytes(entry.payload))
    origin = TYPED if entry.kind == "cancel" else ""
    return Stored(redactor().message(entry.reason), origin) if entry.reason else StateWord(entry.state)
