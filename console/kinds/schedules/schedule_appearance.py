"""Texts and icons of schedules: condition, source, events, policies, and URLs."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from console.kinds.schedules.form import CATCH_UP, OVERLAP
from console.ui.links import url
from queueops.inspect import ScheduleEvent, ScheduleRow

CONDITIONS: dict[str, tuple[str, str | Promise, str]] = {
    "active": ("circle-check", gettext_lazy("active"), "live"),
    "late": ("alert-triangle", gettext_lazy("late: no watchdog fires it"), "late"),
    "paused": ("player-pause", gettext_lazy("paused"), "quiet"),
    "removed": ("code", gettext_lazy("removed from the code"), "quiet"),
    "broken": ("biohazard", gettext_lazy("broken"), "late"),
}
"""Icon, words, and the colour of each condition."""
SOURCES: dict[str, tuple[str, str | Promise]] = {
    "code": ("code", gettext_lazy("code")),
    "console": ("user", gettext_lazy("console")),
    "api": ("bolt", gettext_lazy("program")),
}
MISSED_AS = {"catch_up": dict(CATCH_UP), "overlap": dict(OVERLAP)}


def condition(schedule: ScheduleRow) -> tuple[str, str, str]:
    """Icon, text and colour; the text of a paused schedule names the user."""
    icon, words, colour = CONDITIONS.get(schedule.condition, CONDITIONS["broken"])
    by = _("paused by %(who)s") % {"who": schedule.paused_by[:60]} if schedule.paused_by else ""
    return icon, by if schedule.condition == "paused" and by else str(words), colour


def source(name: str) -> tuple[str, str]:
    """Icon and text."""
    icon, words = SOURCES.get(name, ("help-circle", name or "–"))
    return icon, str(words)


def told_of(event: ScheduleEvent) -> str:
    """The text of a schedule's event."""
    if event.word == "FIRED":
        return _("run by hand by %(who)s") % {"who": event.who} if event.who else _("fired")
    count = {"n": event.count}
    if event.word == "MISSED":
        text = ngettext("%(n)d missed tick was not run", "%(n)d missed ticks were not run", event.count)
    elif event.word == "SKIPPED":
        text = ngettext(
            "skipped: the previous run had not ended",
            "skipped %(n)d times: the previous run had not ended",
            event.count,
        )
    elif event.word == "FULL":
        text = ngettext("skipped: too many runs wait", "skipped %(n)d times: too many runs wait", event.count)
    else:
        return event.word[:40].lower()
    return text % count


def catch_up(policy: str) -> str:
    """The text of a policy for missed ticks."""
    return str(MISSED_AS["catch_up"].get(policy, policy or "–"))


def overlap(policy: str) -> str:
    """The text of a policy for overlapping runs."""
    return str(MISSED_AS["overlap"].get(policy, policy or "–"))


def address(schedule: ScheduleRow, name: str = "schedule") -> str:
    """The URL of a schedule's page; the pool distinguishes schedules of the same id."""
    return url(name, {"pool": schedule.pool}, id=schedule.id)
