"""Operations of workers: bulk actions that go on without a page, and their audit entries.

The store has the progress. The audit entry names the operations, and gets the counts when a page reads that they have
ended. While they run, its `place` is ENGINE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import msgspec
from django.db.models import Exists, F, OuterRef, Q
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, override

from console.actions.catalog import UNDO, Action, is_reasoned, label
from console.actions.undo import has_way_back, permission
from console.audit.log import DETAIL_LENGTH, STORED, begin, kept
from console.models import AuditEntry, Outcome
from console.ui.render import version_of
from queueops import control, inspect
from queueops.errors import QueueOpsError
from queueops.inspect import Operation, TaskQuery
from queueops.model.states import State

ENGINE = "operation"
"""The place of an entry whose operations have not ended."""
STEERING = ("pause", "resume", "stop")
"""What can be done to operations that have not ended."""
BEGINS_WITHIN = timedelta(minutes=1)
"""So long a request may take to begin the operations of an entry."""
KEPT = "running_operations"
READING_AGE_S = 1.0
"""So old the counts may be that a page shows: many open pages cost the store one reading a second."""
SHOWN, SHOWN_FOR = 3, timedelta(days=2)
"""Operations that each page shows, and the longest time since they began."""
ENDED_FOR = timedelta(minutes=15)
"""So long each page shows an operation that has ended, with its undo."""
DISMISSED, MOST_DISMISSED = "dismissed_operations", 50
"""Key of a session, with the entries that its user wants to see no more; the newest."""


class Progress(msgspec.Struct, frozen=True):
    """How far the operations of an audit entry have come, together."""

    pk: int
    label: str
    target: str
    count: int
    seen: int
    changed: int
    rate: float
    left_s: float | None
    is_paused: bool
    is_waiting: bool  # no worker has begun yet
    is_stopping: bool
    can_undo: bool  # what it has changed can be taken back
    needs: str  # the permission to steer it
    outcome: str = ""  # of an ended one, in words
    error: str = ""  # of an attempt that failed; a worker tries again


def start(
    request: HttpRequest, action: Action, query: TaskQuery, most: int, asked_ms: int, values: dict[str, Any]
) -> AuditEntry:
    """Begin the operations, one in each pool, and write the audit entry."""
    target = ", ".join(f"{name}={value}" for name, value in query.params().items())
    entry = begin(request, action.verb, target, count=most, filter=query.params(), place=ENGINE)
    if is_reasoned(action) and entry.reason:
        values = values | {"reason": entry.reason}
    who, token = entry.actor_name, entry.token
    how: dict[str, Any] = {"most": most, "asked_ms": asked_ms, "who": who, "token": token}
    return _begun(entry, lambda: control.begin_operation(action.verb, query, **how, **values))


def entry_of_undo(request: HttpRequest, entry: AuditEntry) -> AuditEntry:
    """The audit entry of an undo, written before it begins."""
    facts = {"count": entry.changed, "filter": entry.filter, "undoes": entry, "place": ENGINE}
    return begin(request, UNDO + entry.verb, entry.target, **facts)


def undo(undoing: AuditEntry) -> AuditEntry:
    """Begin the operations that take back what those of another entry changed. These are stopped."""
    done = undoing.undoes.operations if undoing.undoes else []
    who = undoing.actor_name

    def begin_all() -> list[tuple[str, str]]:
        return [each for pool, id in done for each in control.undo_operation(id, pool, who=who)]

    return _begun(undoing, begin_all)


def steer(entry: AuditEntry, what: str, who: str = "") -> int:
    """Pause, resume or stop the operations of an entry; returns how many were changed."""
    calls = {
        "pause": control.pause_operations,
        "resume": control.resume_operations,
        "stop": control.stop_operations,
    }
    answers = [row for pool, id in entry.operations for row in calls[what]([id], pool, who=who)]
    return sum(row.word == "OK" for row in answers)


def refresh(entry: AuditEntry, max_age_s: float = 0.0) -> list[Operation]:
    """Read the operations of an entry, and set its counts. Only their end is written, with the outcome."""
    if entry.place == ENGINE and "operations" not in entry.before:
        _find(entry)
    return _refreshed(entry, inspect.operations_of(entry.operations, max_age_s=max_age_s))


def refresh_all(entries: Iterable[AuditEntry], max_age_s: float = 0.0) -> dict[int, list[Operation]]:
    """Read the operations of those entries that workers perform, in one round trip; by the number of the entry."""
    shown = [entry for entry in entries if entry.place == ENGINE]
    for entry in shown:
        if "operations" not in entry.before:
            _find(entry)
    places = [place for entry in shown for place in entry.operations]
    found = inspect.operations_of(places, max_age_s=max_age_s)
    return {entry.pk: _refreshed(entry, found) for entry in shown}


def running(request: HttpRequest) -> list[Progress]:
    """The operations that run now, and those that ended lately, read once for a request."""
    known: list[Progress] | None = getattr(request, KEPT, None)
    if known is None:
        setattr(request, KEPT, known := _running(_dismissed(request)))
    return known


def dismiss(request: HttpRequest, pk: int) -> None:
    """Show an ended operation to this session no more."""
    request.session[DISMISSED] = [*_dismissed(request), pk][-MOST_DISMISSED:]


def _dismissed(request: HttpRequest) -> list[int]:
    return list(request.session.get(DISMISSED, ()))


def _running(dismissed: Sequence[int]) -> list[Progress]:
    """The operations to show, those that run first, then the newest; none if the store does not answer."""
    now = timezone.now()
    lately = Q(ended_at__gte=now - ENDED_FOR)
    if not AuditEntry.objects.filter(Q(place=ENGINE) | lately, at__gte=now - SHOWN_FOR).exists():
        return []  # nearly always: the question below costs a page five times the CPU
    lost = (Outcome.FAILED, Outcome.UNKNOWN)
    undone = Exists(AuditEntry.objects.filter(undoes=OuterRef("pk")).exclude(outcome__in=lost))
    lately &= Q(undone=False) & ~Q(pk__in=dismissed)
    found = AuditEntry.objects.annotate(undone=undone).filter(Q(place=ENGINE) | lately, at__gte=now - SHOWN_FOR)
    entries = list(found.order_by(F("place").desc(nulls_last=True), "-pk")[:SHOWN])
    try:
        known = refresh_all(entries, READING_AGE_S)
    except QueueOpsError:
        return []
    shown = [entry for entry in entries if entry.goes_on or (entry.ended_at and not entry.undone)]
    return [_progress(entry, known.get(entry.pk, [])) for entry in shown]


def version_of_running(shown: Sequence[Progress]) -> str:
    """A version that changes with what is shown; empty if that is nothing."""
    return version_of(shown) if shown else ""


def _refreshed(entry: AuditEntry, known: Mapping[tuple[str, str], Operation | None]) -> list[Operation]:
    """Set what the entry shows; write it when all its operations have ended."""
    read = [known[place] for place in entry.operations]
    found = [each for each in read if each is not None]
    if not entry.goes_on:
        return found
    facts: dict[str, Any] = {
        "seen": sum(each.seen for each in found),
        "changed": sum(each.changed for each in found),
        "detail": kept(next((each.why for each in found if each.why), ""), DETAIL_LENGTH),
    }
    if "operations" in entry.before and all(each is None or each.has_ended for each in read):
        with override(STORED):
            facts |= {"place": None, "ended_at": timezone.now()} | _outcome(read, facts, entry.before)
        AuditEntry.objects.filter(pk=entry.pk, place=ENGINE).update(**facts)
        entry.refresh_from_db(fields=["seen", "changed", "place", "ended_at", "detail", "outcome"])
    else:
        for name, value in facts.items():
            setattr(entry, name, value)
    return found


def _find(entry: AuditEntry) -> None:
    """Find the operations of an entry whose process ended before it wrote them down; without any it has failed."""
    token = f"{entry.undoes.token}.undo" if entry.undoes else entry.token
    begun = [[each.pool, each.id] for each in inspect.operations() if each.token == token]
    facts: dict[str, Any] = {"before": {"operations": begun}}
    if not begun:
        if timezone.now() - entry.at <= BEGINS_WITHIN:
            return
        facts |= {"place": None, "outcome": Outcome.FAILED, "detail": gettext_noop("it was not begun")}
    AuditEntry.objects.filter(pk=entry.pk, place=ENGINE).update(**facts)
    entry.refresh_from_db(fields=list(facts))


def _begun(entry: AuditEntry, call: Callable[[], list[tuple[str, str]]]) -> AuditEntry:
    """Begin the operations; an error ends the entry, and is raised again."""
    with recorded_begin(entry):
        begun = call()
        missing = [each.pool for each in getattr(begun, "broken", ())]
        entry.before = {"operations": [list(each) for each in begun]} | ({"missing": missing} if missing else {})
    refresh(entry)
    return entry


@contextmanager
def recorded_begin(entry: AuditEntry) -> Iterator[None]:
    """Write which operations have begun, as the body sets it in `before`; an error ends the entry."""
    rows = AuditEntry.objects.filter(pk=entry.pk)
    try:
        yield
    except QueueOpsError as error:
        rows.update(place=None, outcome=Outcome.FAILED, detail=kept(str(error), DETAIL_LENGTH))
        raise
    rows.update(before=entry.before)


def _outcome(found: list[Operation | None], facts: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    if any(each is None for each in found):
        return {"outcome": Outcome.UNKNOWN, "detail": _("an operation is gone, and its counts with it")}
    known = [each for each in found if each is not None]
    if not known:
        return {"outcome": Outcome.REFUSED, "detail": _("no task matched")}
    for each in known:
        if each.state == State.FAILED:
            return {"outcome": Outcome.FAILED, "detail": kept(each.reason or _("its task failed"), DETAIL_LENGTH)}
    stopped = next((each.reason for each in known if each.state == State.CANCELLED), "")
    cut = _("more match than the number that was confirmed") if any(each.is_cut for each in known) else ""
    missing = ", ".join(before.get("missing", ()))
    unread = _("nothing was begun in %(pools)s, which did not answer") % {"pools": missing} if missing else ""
    if not stopped and not cut and not unread and facts["seen"] == facts["changed"]:
        return {"outcome": Outcome.DONE}
    told = "; ".join(filter(None, (stopped, cut, unread)))
    detail = {"detail": kept(told, DETAIL_LENGTH)} if told else {}
    return {"outcome": Outcome.PARTLY if facts["changed"] else Outcome.REFUSED} | detail


def _progress(entry: AuditEntry, known: list[Operation]) -> Progress:
    rate = sum(each.rate for each in known if each.is_running)
    return Progress(
        pk=entry.pk,
        label=label(entry.verb),
        target=entry.target,
        count=entry.count,
        seen=entry.seen,
        changed=entry.changed,
        rate=rate,
        left_s=max(0, entry.count - entry.seen) / rate if rate else None,
        is_paused=any(each.is_paused for each in known),
        is_waiting=entry.goes_on and all(each.began_ms is None for each in known),
        is_stopping=any(each.is_stopping for each in known),
        can_undo=has_way_back(entry) and entry.changed > 0,
        needs=permission(entry) or "",
        outcome="" if entry.goes_on else entry.get_outcome_display(),
        error=next((each.error for each in known if each.fails), ""),
    )
