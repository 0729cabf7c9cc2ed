"""Labels of the stored words of runs: kinds of entries and commands, their outcomes, and where a task is."""

from __future__ import annotations

from collections.abc import Mapping

from django import template
from django.utils.functional import Promise
from django.utils.translation import pgettext_lazy

register = template.Library()

COMMANDS: Mapping[str, str | Promise] = {
    "activity": pgettext_lazy("command of a run", "activity"),
    "child": pgettext_lazy("command of a run", "child"),
    "timer": pgettext_lazy("command of a run", "timer"),
    "signal": pgettext_lazy("command of a run", "signal"),
    "cancel": pgettext_lazy("command of a run", "cancel"),
}
OUTCOMES: Mapping[str, str | Promise] = {
    "done": pgettext_lazy("outcome of a command", "done"),
    "failed": pgettext_lazy("outcome of a command", "failed"),
    "fired": pgettext_lazy("outcome of a command", "fired"),
    "dropped": pgettext_lazy("outcome of a command", "dropped"),
    "open": pgettext_lazy("outcome of a command", "open"),
    "on its way": pgettext_lazy("outcome of a command", "on its way"),
    "gone": pgettext_lazy("outcome of a command", "gone"),
}
ENTRIES: Mapping[str, str | Promise] = {
    "step": pgettext_lazy("entry of a history", "step"),
    "call": pgettext_lazy("entry of a history", "call"),
    "child": pgettext_lazy("entry of a history", "child"),
    "timer": pgettext_lazy("entry of a history", "timer"),
    "tell": pgettext_lazy("entry of a history", "tell"),
    "drop": pgettext_lazy("entry of a history", "drop"),
    "ask": pgettext_lazy("entry of a history", "ask"),
    "side": pgettext_lazy("entry of a history", "side"),
    "patch": pgettext_lazy("entry of a history", "patch"),
    "end": pgettext_lazy("entry of a history", "end"),
    "done": pgettext_lazy("entry of a history", "done"),
    "failed": pgettext_lazy("entry of a history", "failed"),
    "fired": pgettext_lazy("entry of a history", "fired"),
    "signal": pgettext_lazy("entry of a history", "signal"),
    "cancel": pgettext_lazy("entry of a history", "cancel"),
}


@register.filter("entry_label")
def entry(kind: str) -> str:
    """The kind of an entry of a history or an inbox."""
    return str(ENTRIES.get(kind, kind))


@register.filter("command_label")
def command(kind: str) -> str:
    """The kind of a command, or of an event from outside."""
    return str(COMMANDS.get(kind, kind))


@register.filter("command_outcome")
def outcome(word: str) -> str:
    """How a command ended, or where its task is."""
    return str(OUTCOMES.get(word, word))
