"""Bulk actions: act on all tasks that match a filter; audit entries for the whole and for each 500 tasks.

A bulk action runs in steps, each within one short request. Only the database and Redis hold its state. Between two
steps the audit entry stores the position: any user with the permission can continue it. If a step lost the store, the
next step first asks the store which tasks that step has changed.
"""

from __future__ import annotations

from functools import cached_property
from math import inf
from time import monotonic
from typing import Any, ClassVar

from django.db.models.functions import Greatest
from django.http import HttpRequest
from django.utils.translation import gettext as _

from console.actions.bulk_parts import alone, find_out, recount
from console.actions.catalog import ACTIONS, Action
from console.actions.perform import do
from console.actions.selection import MOST, Choice, numbered
from console.audit.log import begin
from console.models import AuditEntry, Outcome
from console.ui import filters
from console.ui.error_names import error_name
from console.ui.kind_pages import RecordWords, words_of_record
from queueops import control, inspect
from queueops.control.verbs import FREEING
from queueops.inspect import OperationPreview, OperationWait, TaskQuery, TaskRow
from queueops.inspect.selection import Extent, gather
from queueops.model.states import State

TRIAL = 10
SECONDS = 2.0
"""A step starts no new work after this time."""


class Matching(Choice, frozen=True, kw_only=True):
    """All tasks that match a filter, as the confirmation page shows them; `asked_ms` is the time of the question."""

    tasks: tuple[tuple[str, str], ...] = ()
    query: TaskQuery
    extent: Extent
    asked_ms: int
    verb: str = ""

    question: ClassVar[str] = "tasks/all.html"
    asks_reason: ClassVar[bool] = True

    def __len__(self) -> int:
        return self.extent.count

    def number(self) -> str:
        """The number of tasks, at most the one that is shown."""
        number = self._counted()
        return number if self.extent.exact else _("at most %(tasks)s") % {"tasks": number}

    def all_of_them(self) -> str:
        """All that match, by the own words of their record; empty if it has none."""
        if self.words is None:
            return ""
        is_all = self.extent.exact and len(self) > 1
        return _("all %(tasks)s") % {"tasks": self._counted()} if is_all else self.number()

    @property
    def words(self) -> RecordWords | None:
        """The own words of the record of the filter."""
        return words_of_record(self.query.kind)

    def _counted(self) -> str:
        return numbered(len(self), self.words)

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The time of the question; the filter is in the URL."""
        return [("asked_ms", str(self.asked_ms))]

    @property
    def facets(self) -> list[tuple[Any, str]]:
        """The labels and values of the filter."""
        return [(filters.LABELS[name], filters.value_label(name, value)) for name, value in self.query.params().items()]

    @cached_property
    def names(self) -> list[tuple[str, int]]:
        """The names of the tasks, with their numbers."""
        return [(name, count) for name, count in inspect.facets(self.query).get("name", []) if count]

    @cached_property
    def preview(self) -> OperationPreview:
        """What the action would meet, by a look at the first tasks."""
        verb = "cancel" if self.verb == "interrupt" else self.verb
        return inspect.operation_preview(verb, self.query, asked_ms=self.asked_ms)

    @cached_property
    def waits(self) -> list[OperationWait]:
        """What would keep workers from the action, in the pools with such tasks."""
        return inspect.operation_waits(self.query)

    @property
    def unserved(self) -> list[str]:
        """The pools with such tasks where no live worker could perform the action."""
        return [wait.pool for wait in self.waits if wait.reason == "no worker"]

    @property
    def trial(self) -> int:
        """How many tasks may be retried first, to see how they end; 0 if that is not offered."""
        return TRIAL if self.verb == "retry" and len(self) > TRIAL else 0

    @property
    def in_parts(self) -> bool:
        """Whether it is more than one call."""
        return len(self) > MOST

    @property
    def by_workers(self) -> bool:
        """Whether workers perform it; else the page does."""
        return not self.unserved and not self.frees

    @property
    def frees(self) -> bool:
        """Whether it frees slots: then the page performs it, as workers may have no slot for it."""
        return self.verb in FREEING

    def effects(self, verb: str) -> tuple[str, ...]:
        """The rule of the verb for tasks in this state; of parts only if a look at the first tasks has found some."""
        if verb not in inspect.REACHING:
            return ()
        state = self.query.state or (State.FAILED if self.query.error else "")
        rule = inspect.rule(verb, state, has_parts=bool(self.preview.parts))
        return (rule,) if rule else ()

    def always_asks(self, verb: str) -> bool:
        """Whether the action is confirmed also without side effects: other tasks may match at once."""
        return verb in inspect.REACHING

    def expected(self, sent: str) -> int:
        """Any number may be confirmed: the action changes no more tasks than that."""
        return int(sent) if sent.isdecimal() and len(sent) < 10 else len(self)


def start(
    request: HttpRequest, action: Action, query: TaskQuery, most: int, asked_ms: int, values: dict[str, Any]
) -> AuditEntry:
    """Write the audit entry: at most `most` of the matching tasks, none that entered its state after `asked_ms`."""
    chosen = {"asked_ms": asked_ms} | ({"values": values} if values else {})
    return begin(request, action.verb, titled(query), count=most, filter=query.params(), before=chosen, place="")


def titled(query: TaskQuery) -> str:
    """The filter as one line of text."""
    return ", ".join(f"{name}={value}" for name, value in named(query))


def named(query: TaskQuery) -> list[tuple[str, str]]:
    """The facets of the filter with their values; an error has its type beside its fingerprint."""
    params = query.params().items()
    return [(name, error_name(value) if name == "error" else value) for name, value in params]


def go_on(request: HttpRequest, entry: AuditEntry) -> bool:
    """Act on more tasks for about SECONDS; True when the action has ended. An outage keeps the work done so far."""
    until = monotonic() + SECONDS
    find_out(entry)
    while entry.place is not None:
        if not _step(request, entry, until) or monotonic() > until:
            break
    return entry.place is None


def outcome(entry: AuditEntry) -> Outcome:
    """The outcome, from how many of the tasks seen were changed."""
    if entry.changed == entry.seen:
        return Outcome.DONE
    return Outcome.PARTLY if entry.changed else Outcome.REFUSED


def end(entry: AuditEntry) -> None:
    """Write the final outcome.

    Parallel requests may change more tasks than `seen` says. Then `seen` is raised to `changed`.
    """
    rows = AuditEntry.objects.filter(pk=entry.pk)
    with alone(entry):
        rows.update(place=None, seen=Greatest("seen", "changed"))
        entry.refresh_from_db(fields=["seen", "changed", "place"])
        entry.outcome = outcome(entry)
        rows.update(outcome=entry.outcome)


def _step(request: HttpRequest, entry: AuditEntry, until: float) -> bool:
    """Act on one part. False if another request advanced the action meanwhile.

    The engine changes no task twice, and the changes of both requests count.
    """
    begun_at = {"seen": entry.seen, "place": entry.place}
    query, left = TaskQuery(**entry.filter), entry.count - entry.seen
    rows, place = gather(
        query, entry.place or "", min(MOST, left), asked_ms=entry.before.get("asked_ms", inf), until=until
    )
    rows = _not_yet(entry, rows)
    part = _act(request, entry, rows) if rows else None
    moved: dict[str, Any] = {"seen": entry.seen + len(rows), "place": place if len(rows) < left else None}
    if part is not None and part.outcome == Outcome.FAILED:
        moved |= {"place": None, "outcome": Outcome.FAILED, "detail": part.detail}
    elif part is not None and not entry.detail:
        moved["detail"] = part.detail
    is_ours = bool(AuditEntry.objects.filter(pk=entry.pk, **begun_at).update(**moved))
    recount(entry)
    if not entry.goes_on and entry.outcome != Outcome.FAILED:
        end(entry)
    return is_ours


def _not_yet(entry: AuditEntry, rows: list[TaskRow]) -> list[TaskRow]:
    """Leave out the tasks already changed: an interrupted step may have moved them to a lane where they match again."""
    done: set[tuple[str, str]] = set()
    for pool, ids in Choice.of(*rows).by_pool().items():
        done |= {(pool, row.id) for row in control.recall(ids, pool, token=entry.token) if row.word == "OK"}
    return [row for row in rows if (row.pool, row.id) not in done]


def _act(request: HttpRequest, entry: AuditEntry, rows: list[TaskRow]) -> AuditEntry:
    values = dict(entry.before.get("values", {}))
    return do(request, ACTIONS[entry.verb], Choice.of(*rows), values, reason=entry.reason, part_of=entry)
