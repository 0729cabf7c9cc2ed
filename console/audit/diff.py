"""Audit diff: values before and after an action, of tasks, of settings and of written texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext

from console.models import AuditEntry, Outcome
from queueops import conf

MOST = 500


class TaskChange(NamedTuple):
    """One task: its state before and after, and the engine's answer."""

    pool: str
    id: str
    before: str
    after: str
    word: str
    detail: str


class Fact(NamedTuple):
    """A value that was set or chosen: its name, and its values as shown."""

    label: str | Promise
    before: str
    after: str


class Text(NamedTuple):
    """Arguments or data as JSON."""

    title: str
    document: str


LABELS: dict[str, str | Promise] = {
    "paused": gettext_lazy("Paused"),
    "limit": gettext_lazy("Limit"),
    "weight": gettext_lazy("Weight"),
    "state": gettext_lazy("State"),
    "told": gettext_lazy("Told"),
    "values": gettext_lazy("With"),
    "condition": gettext_lazy("Condition"),
    "alarms": gettext_lazy("Alarms"),
    "sealed": gettext_lazy("Values"),
}
"""The facts with a label of their own on the screen; they come first, in this order."""
ELSEWHERE = ("pool", "lane", "id", "args", "data")
"""Facts that the target shows already, or that are shown in another form."""


def of_tasks(entry: AuditEntry) -> list[TaskChange]:
    """The changed tasks, at most MOST."""
    return [_task(entry, pool, id) for pool, id in entry.ids[:MOST]]


def of_facts(entry: AuditEntry, others: Mapping[str, str | Promise]) -> list[Fact]:
    """The other values that were set or chosen; `others` are labels of facts of kinds."""
    sides, labels = (entry.before, entry.after), {**LABELS, **others}
    names = dict.fromkeys(name for name in (*labels, *entry.before, *entry.after) if " " not in name)
    return [
        Fact(labels.get(name, name), *(_spelled(side.get(name), known=name in side) for side in sides))
        for name in names
        if name not in ELSEWHERE and any(side.get(name) not in (None, [], "") for side in sides)
    ]


def of_texts(entry: AuditEntry) -> list[Text]:
    """The arguments or the data before, and the new ones."""
    refused = entry.outcome in (Outcome.FAILED, Outcome.UNKNOWN, Outcome.REFUSED)
    titles = {
        ("args", 0): _("Arguments before"),
        ("args", 1): _("Arguments that were refused") if refused else _("Arguments after"),
        ("data", 0): _("Data before"),
        ("data", 1): _("Data that was refused") if refused else _("Data after"),
    }
    sides = entry.before, entry.after
    return [Text(title, sides[side][name]) for (name, side), title in titles.items() if sides[side].get(name)]


def _task(entry: AuditEntry, pool: str, id: str) -> TaskChange:
    before, after = (side.get(f"{pool} {id}", {}) for side in (entry.before, entry.after))
    facts = (after.get(name, "") for name in ("state", "word", "detail"))
    return TaskChange(pool, id, before.get("state", ""), *facts)


def _spelled(value: Any, *, known: bool) -> str:
    if not known:
        return "–"
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, dict):
        return ", ".join(f"{name} {each}" for name, each in value.items()) or "–"
    if isinstance(value, list):
        return conf.redactor().text(", ".join(map(str, value))) or "–"
    return pgettext("value", "none") if value is None else conf.redactor().text(str(value))
