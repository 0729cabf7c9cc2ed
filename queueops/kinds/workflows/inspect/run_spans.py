"""Spans of a run: when each activity, child and timer of a page of the history began and ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from queueops.inspect.answers import Answer
from queueops.inspect.errors import Failure

BEGINS = {"call": "activity", "child": "child", "timer": "timer"}
ENDS = ("done", "failed", "fired")
DROPPED, OPEN = "dropped", "open"


class RunLine(Answer, frozen=True, kw_only=True):
    """One entry of a history or an inbox. `text` is masked; empty for users without the permission for arguments."""

    number: int
    kind: str
    at_ms: int | None = None
    command: int = 0
    name: str = ""
    task: str = ""
    due_ms: int | None = None
    text: str = ""
    failure: Failure | None = None  # of what failed; `text` is its title


class RunSpan(Answer, frozen=True, kw_only=True):
    """The time of one command. None: its beginning is on an earlier page, or it has no end on this page."""

    number: int
    kind: str = ""  # activity, child, timer; empty if it began on an earlier page
    name: str = ""
    task: str = ""  # the id of its task, if it has one
    begun_ms: int | None = None
    ended_ms: int | None = None
    due_ms: int | None = None  # of a timer
    outcome: str = OPEN  # done, failed, fired, dropped, open


def spans_of(lines: Iterable[RunLine], owner: str, open_tasks: Mapping[int, str]) -> tuple[RunSpan, ...]:
    """The spans of a page, by number. ``owner``: the run whose id begins the ids of its tasks; empty if not known."""
    found: dict[int, RunSpan] = {}
    at: int | None = None
    for line in lines:
        if line.kind == "step":
            at = line.at_ms
        elif line.kind in BEGINS:
            named = f"{owner}.{line.command}" if owner and line.kind != "timer" else ""
            found[line.command] = RunSpan(
                number=line.command,
                kind=BEGINS[line.kind],
                name=line.name,
                task=open_tasks.get(line.command, named),
                begun_ms=at,
                due_ms=line.due_ms,
            )
        elif line.command and (line.kind in ENDS or line.kind == "drop"):
            earlier = found.get(line.command) or RunSpan(number=line.command)
            outcome = DROPPED if line.kind == "drop" else line.kind
            found[line.command] = _ended(earlier, line.at_ms or at, outcome)
    return tuple(found[number] for number in sorted(found))


def _ended(span: RunSpan, ended_ms: int | None, outcome: str) -> RunSpan:
    return RunSpan(
        number=span.number,
        kind=span.kind,
        name=span.name,
        task=span.task,
        begun_ms=span.begun_ms,
        ended_ms=ended_ms,
        due_ms=span.due_ms,
        outcome=outcome,
    )
