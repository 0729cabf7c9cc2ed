"""Commands of a run: those whose end has not come, and the children that it has begun, each page by page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

import msgspec

from queueops.errors import FilterError
from queueops.inspect.answers import Answer
from queueops.inspect.errors import read_failure, title
from queueops.kinds.workflows import events
from queueops.kinds.workflows.inspect.run_list import RunFacts, facts_of
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.kinds.workflows.store.run_store import CallRow, task_of
from queueops.model.sentences import say
from queueops.model.states import TIMED, table
from queueops.redis.broker import get_role
from queueops.redis.query_replies import may_be_id, maybe_whole

MOST_CALLS = 100
MOST_CHILDREN = 50
ENTRIES = 5_000
"""The most entries of a history in which one page looks for children."""
MOST_CURSOR = 2**64 - 1
_PLACE = re.compile(r"(\d{1,20})\.(\d{1,6})")
KINDS = {"a": "activity", "c": "child", "t": "timer", "s": "signal"}


class RunCall(Answer, frozen=True, kw_only=True):
    """A command whose end has not come: an activity, a child or a timer."""

    TEXTS: ClassVar = ("error",)
    TEXTS_OF_TASKS: ClassVar = ("detail", "reason")
    STORED: ClassVar = ("reason",)

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
    worker: str = ""  # that runs it now
    progress: float | None = None  # as `current().progress` told last
    total: float | None = None
    detail: str = ""  # the last line that its code wrote by `current().log`
    error: str = ""  # of its last attempt, in one line
    reason: str = ""


class CallPage(NamedTuple):
    """Open commands, and where the next ones begin; `next` is empty at the end."""

    calls: tuple[RunCall, ...]
    next: str = ""


class RunChildren(Answer, frozen=True, kw_only=True):
    """Children of a run, in the order of their starts; `next` is the entry where the next page begins, 0 at the end."""

    rows: tuple[RunFacts, ...] = ()
    next: int = 0
    looked_at: int = 0  # entries of the history up to here
    length: int = 0


def open_calls(pool: str, run: str, place: str = "") -> CallPage:
    """A page of the open commands of a run. Raises FilterError for a place that is not one of this list."""
    found = _PLACE.fullmatch(place or "0.0")
    if found is None or int(found[1]) > MOST_CURSOR:
        raise FilterError(
            reason=say(
                "%(place)s is not a place in the open commands of a run; begin at the first.", place=repr(place[:50])
            )
        )
    store = get_role(WorkflowCalls)
    cursor, first = int(found[1]), int(found[2])
    following, page = store.open_calls(pool, run, cursor, MOST_CALLS)
    rows = sorted(page.items(), key=lambda item: _number(item[0]))
    shown = rows[first : first + MOST_CALLS]
    places = places_of_calls(store, pool, [what for _, what in shown])
    tasks = store.call_rows(list(places.values()))
    calls = tuple(_call(pool, number, what, places, tasks) for number, what in shown)
    if first + MOST_CALLS < len(rows):
        return CallPage(calls, f"{cursor}.{first + MOST_CALLS}")
    return CallPage(calls, f"{following}.0" if following else "")


def run_children(id: str, pool: str = "default", *, first: int = 0) -> RunChildren:
    """A page of the children of a run from an entry of its history on; none if there is no such run.

    A child that continued as new is shown by its last run. The state of a child that is gone is empty.
    """
    if not may_be_id(id):
        return RunChildren()
    store = get_role(WorkflowCalls)
    last, length, found = store.children(pool, id, max(0, first), ENTRIES, MOST_CHILDREN)
    last = min(last, length)
    rows: list[tuple[str, str, events.Entry]] = []
    for text, task in found:
        try:
            entry = events.decode(text)
        except msgspec.MsgspecError:  # written by other software; the page of the history tells it
            continue
        rows.append((entry.pool or pool, task or f"{id}.{entry.command}", entry))
    newest = store.newest_runs([(place, task) for place, task, entry in rows if entry.pool])
    rows = [(place, newest.get((place, task), task), entry) for place, task, entry in rows]
    stored = store.run_fields([(place, task) for place, task, _ in rows])
    facts = [
        facts_of(place, task, stored[place, task])
        if stored[place, task].known
        else RunFacts(id=task, pool=place, instance=entry.instance, name=entry.name, state="")
        for place, task, entry in rows
    ]
    return RunChildren(rows=tuple(facts), next=last if last < length else 0, looked_at=last, length=length)


def places_of_calls(store: WorkflowCalls, pool: str, calls: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Pool and id of the task of each of these commands: of a child in another pool, its last run."""
    tasks = {what: task_of(what) for what in calls if what[:1] in ("a", "c")}
    places = {what: (elsewhere or pool, id) for what, (id, elsewhere) in tasks.items()}
    last = store.newest_runs([places[what] for what in tasks if what[:1] == "c" and tasks[what][1]])
    return {what: (there, last.get((there, id), id)) for what, (there, id) in places.items()}


def _last_words(log: Sequence[bytes]) -> str:
    """The last line that the code of a task wrote into its log."""
    for line in reversed(log):
        try:
            entry = msgspec.json.decode(line, type=_LogLine)
        except msgspec.MsgspecError:  # written by other software
            continue
        if entry.k == "log":
            return entry.text
    return ""


class _LogLine(msgspec.Struct):
    k: str = ""
    text: str = ""


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0


def _call(
    pool: str, number: str, what: str, places: Mapping[str, tuple[str, str]], tasks: Mapping[tuple[str, str], CallRow]
) -> RunCall:
    kind, at = KINDS.get(what[:1], "?"), _number(number)
    if kind == "signal":
        return RunCall(number=at, kind=kind, state="on its way")
    if kind == "timer":
        return RunCall(number=at, kind=kind, due_ms=maybe_whole(what[1:]))
    if what not in places:
        return RunCall(number=at, kind=kind)
    there, id = places[what]
    elsewhere, row = there if there != pool else "", tasks.get((there, id))
    if row is None:
        return RunCall(number=at, kind=kind, task=id, pool=elsewhere, state="on its way" if elsewhere else "gone")
    record = row.record
    runs = record.state in table().leased
    return RunCall(
        number=at, kind=kind, task=record.id, pool=elsewhere, name=record.name, state=record.state,
        attempt=record.attempt, retries=record.retries, due_ms=record.due if record.state in TIMED else None,
        begun_ms=record.begun if runs else None, worker=record.worker if runs else "",
        progress=record.progress, total=record.total, detail=_last_words(row.log),
        error=title(read_failure(record.error)), reason=record.reason,
    )  # fmt: skip
