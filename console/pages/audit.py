"""Audit log pages: who did what, when, to how many tasks, and the outcome. They are read-only."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from console.access.pools import granted_in, pools_of_entry
from console.actions import operations
from console.actions.catalog import label, verbs
from console.actions.undo import permission
from console.audit import diff
from console.audit.log import as_stored
from console.models import AuditEntry, Outcome
from console.pages.undo import goes_by_itself, undoable
from console.ui.error_names import task_of
from console.ui.kind_pages import fact_labels
from console.ui.links import url
from console.ui.render import fragment, live_update, page
from queueops import inspect
from queueops.errors import QueueOpsError

LIMIT = 50
MOST_PARTS = 10
MOST_NOW = 20
MINUTE = "%Y-%m-%dT%H:%M"


def index(request: HttpRequest) -> HttpResponse:
    """The entries, newest first; `before` is the last entry of the previous page."""
    entries, asked, fault = asked_entries(request.GET)
    found, more = ([], None) if fault else _older(request, entries, LIMIT)
    with suppress(QueueOpsError):  # the counts of running actions are then those of the database
        operations.refresh_all(found, operations.READING_AGE_S)
    context = {
        "entries": found,
        "more": more,
        "asked": asked,
        "fault": fault,
        "newest_url": url("audit", asked) if request.GET.get("before") else "",
        "older_url": url("audit", asked | {"before": more}) if more else "",
        "verbs": sorted({asked["verb"], *verbs()} - {""}, key=label),
        "outcomes": Outcome.choices,
    }
    return page(request, "audit/page.html", context, status=400 if fault else 200)


def asked_entries(params: Mapping[str, Any]) -> tuple[QuerySet[AuditEntry], dict[str, str], str]:
    """The entries that the parameters of the page ask for; these parameters; and what is wrong with them."""
    entries = AuditEntry.objects.select_related("undoes").filter(part_of=None)
    asked = {name: params.get(name, "").strip()[:150] for name in ("actor_name", "verb", "outcome")}
    entries = entries.filter(**{name: value for name, value in asked.items() if value})
    asked["until"], fault = params.get("until", "").strip()[:40], ""
    if asked["until"]:
        try:
            minute = _minute(asked["until"])
        except ValueError:
            fault = _("%(text)s is no time. Write it as 2026-01-31T18:30.") % {"text": asked["until"]}
        else:
            entries = entries.filter(at__lt=_end(minute))
    return entries, asked, fault


def show(request: HttpRequest, pk: int) -> HttpResponse:
    """One entry, with the values before and after, and the undo if there is one."""
    return page(request, "audit/entry.html", _entry(request, pk))


def live(request: HttpRequest, pk: int) -> HttpResponse:
    """The live update of an entry whose action workers perform."""
    return fragment(request, "audit/layout.html", _entry(request, pk))


def _entry(request: HttpRequest, pk: int) -> dict[str, Any]:
    entry = get_object_or_404(AuditEntry.objects.select_related("undoes"), pk=pk)
    is_by_workers = entry.operations or entry.place == operations.ENGINE
    known = operations.refresh(entry, operations.READING_AGE_S) if is_by_workers else []
    parts, more = _older(request, entry.parts.defer("ids", "before", "after"), MOST_PARTS)
    shown = {
        "may_go_on": entry.goes_on and permission(entry) in granted_in(request.user, pools_of_entry(entry)),
        "is_paused": any(each.is_paused for each in known),
        "undoable": undoable(entry, request),
    }
    now = _states_now(entry)
    data = entry.seen, entry.changed, entry.outcome, entry.detail, known, list(shown.values()), now
    return shown | {
        "entry": entry,
        "parts": parts,
        "more": more,
        "operations": known,
        "any_state_url": _any_state(entry) if entry.is_mass and not entry.undoes else "",
        "is_live": entry.place == operations.ENGINE or bool(now),
        "now": now,
        "going": goes_by_itself(request, entry),
        "tasks": [(change, now.get(change.id, "")) for change in diff.of_tasks(entry)],
        "facts": diff.of_facts(entry, fact_labels()),
        "texts": diff.of_texts(entry),
        "back": url("audit-entry", pk=pk),
        **live_update(url("audit-live", pk=pk), *data),
    }


def _states_now(entry: AuditEntry) -> dict[str, str]:
    """The present states of a few tasks, by id; the page of an entry is shown without them if the store is away."""
    if not 0 < len(entry.ids) <= MOST_NOW:
        return {}
    with suppress(QueueOpsError):
        rows = inspect.rows_now([(pool, id) for pool, id in entry.ids])
        return {row.id: row.state for row in rows.values() if row is not None}
    return {}


def _any_state(entry: AuditEntry) -> str:
    """The list where the changed tasks are now: a retried task has no error any more, a cancelled one another state."""
    left = {name: value for name, value in entry.filter.items() if name not in ("state", "error")}
    if (error := entry.filter.get("error", "")) and "name" not in left:
        with suppress(QueueOpsError):
            left |= {"name": name} if (name := task_of(error)) else {}
    return url("tasks", left) if left and left != entry.filter else ""


def _minute(text: str) -> datetime:
    """The minute of a text, as a field for date and time sends it. Raises ValueError for any other text."""
    found = parse_datetime(text)
    if found is None or found.strftime(MINUTE) != text:
        raise ValueError(text)
    if not 1970 <= found.year < 9999:  # at the ends of the calendar another zone has no such time
        raise ValueError(text)
    return found


def _end(minute: datetime) -> datetime:
    """The end of a minute of the user's zone, as the database has times; the later one if clocks show it twice."""
    starts = (timezone.make_aware(minute.replace(fold=fold)).astimezone(UTC) for fold in (0, 1))
    return as_stored(max(starts) + timedelta(minutes=1))


def _older(request: HttpRequest, entries: QuerySet[AuditEntry], most: int) -> tuple[list[AuditEntry], int | None]:
    """The entries of one page, and the last of them if older ones follow; `before` ended the previous page."""
    before = request.GET.get("before", "")
    if before.isdecimal() and len(before) < 19:
        entries = entries.filter(pk__lt=int(before))
    found = list(entries[: most + 1])
    return found[:most], found[most - 1].pk if len(found) > most else None
