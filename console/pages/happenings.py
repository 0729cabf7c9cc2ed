"""What happened in a range of the history: marks of the engine, and operators' actions of the audit log."""

from __future__ import annotations

from datetime import UTC, datetime

from django.utils.translation import gettext as _

from console.actions.catalog import label
from console.audit.log import as_stored
from console.diagram.moments import ACTION, Happening
from console.models import AuditEntry, Outcome
from console.ui.links import url
from queueops.inspect import HistoryMark, Series

MOST_ACTIONS = 100
"""Actions of a range; the newest."""
OPEN_MS = 120_000
"""What happened after the last closed step is shown at the end of the chart."""


def happenings(series: Series) -> list[Happening]:
    """The newest first; of actions only those that name the lane, name, error or worker of the series."""
    since_ms, until_ms = series.points[0].at_ms, series.points[-1].at_ms + series.step_ms + OPEN_MS
    found = [*map(_marked, series.marks), *_actions(since_ms, until_ms, _about(series))]
    return sorted(found, key=lambda each: -each.at_ms)


def _about(series: Series) -> str:
    """What an action must name to be shown."""
    return series.lane or series.name or series.error or series.worker


def _marked(mark: HistoryMark) -> Happening:
    return Happening(mark.at_ms, mark.kind, mark.text, mark.level)


def _actions(since_ms: int, until_ms: int, about: str) -> list[Happening]:
    since, until = (as_stored(datetime.fromtimestamp(ms / 1000, UTC)) for ms in (since_ms, until_ms))
    entries = AuditEntry.objects.filter(part_of=None, at__gte=since, at__lt=until).exclude(outcome=Outcome.DENIED)
    if about:
        entries = entries.filter(target__contains=about)
    return [_action(entry) for entry in entries.only("at", "actor_name", "verb", "target")[:MOST_ACTIONS]]


def _action(entry: AuditEntry) -> Happening:
    words = {"who": entry.actor_name, "verb": label(entry.verb), "target": entry.target[:100]}
    text = _("%(who)s: %(verb)s, %(target)s") % words
    return Happening(round(entry.at.timestamp() * 1000), ACTION, text, url=url("audit-entry", pk=entry.pk))
