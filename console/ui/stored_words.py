"""Labels of stored words that are no states of tasks: how attempts and tasks ended, and the condition of workers."""

from __future__ import annotations

import re
from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy

from console.ui.formatting import local
from console.ui.kind_pages import worker_words

ATTEMPTS: Mapping[str, str | Promise] = {
    "running": pgettext_lazy("attempt", "running"),
    "succeeded": pgettext_lazy("attempt", "succeeded"),
    "error": pgettext_lazy("attempt", "error"),
    "timeout": pgettext_lazy("attempt", "timeout"),
    "crash": pgettext_lazy("attempt", "crash"),
    "restart": pgettext_lazy("attempt", "restart"),
    "release": pgettext_lazy("attempt", "release"),
    "cancelled": pgettext_lazy("attempt", "cancelled"),
}
OUTCOMES: Mapping[str, str | Promise] = {
    "success": pgettext_lazy("outcome of a task", "success"),
    "failure": pgettext_lazy("outcome of a task", "failure"),
    "cancelled": pgettext_lazy("outcome of a task", "cancelled"),
    "crashed": pgettext_lazy("outcome of a task", "crashed"),
    "discarded": pgettext_lazy("outcome of a task", "discarded"),
}
WORKERS: Mapping[str, str | Promise] = {
    "live": pgettext_lazy("condition of a worker", "live"),
    "quiet": pgettext_lazy("condition of a worker", "quiet"),
    "late": pgettext_lazy("condition of a worker", "late"),
    "stopping": pgettext_lazy("condition of a worker", "stopping"),
    "silent": pgettext_lazy("condition of a worker", "silent"),
    "hung": pgettext_lazy("condition of a worker", "hung"),
    "frozen": pgettext_lazy("condition of a worker", "frozen"),
    "dead": pgettext_lazy("condition of a worker", "dead"),
}
FACTS: Mapping[str, str | Promise] = {
    "clock": pgettext_lazy("fact of a worker", "clock"),
    "executor": pgettext_lazy("fact of a worker", "executor"),
}
"""What heartbeats tell beside the usual; kinds have others."""
LINES: Mapping[str, str | Promise] = {
    "log": pgettext_lazy("line of a log", "log"),
    "error": pgettext_lazy("line of a log", "error"),
    "crash": pgettext_lazy("line of a log", "crash"),
    "restart": pgettext_lazy("line of a log", "restart"),
    "operator": pgettext_lazy("line of a log", "operator"),
    "edit": pgettext_lazy("line of a log", "edit"),
    "follow_up": pgettext_lazy("line of a log", "follow-up"),
    "unreadable": pgettext_lazy("line of a log", "unreadable"),
}
"""Lines of a task's log; kinds have others."""
FULL = re.compile(r"([\d.]+) % full(.*)")
NUMBER = re.compile(r"\d{1,3}(?:,\d{3})*")
ALERTS: Mapping[str, str | Promise] = {
    "firing": pgettext_lazy("alert", "firing"),
    "again": pgettext_lazy("alert", "again"),
    "recovered": pgettext_lazy("alert", "recovered"),
    "given up": pgettext_lazy("alert", "given up"),
    "acknowledged": pgettext_lazy("alert", "acknowledged"),
    "unacknowledged": pgettext_lazy("alert", "unacknowledged"),
    "silenced": pgettext_lazy("alert", "silenced"),
    "unsilenced": pgettext_lazy("alert", "unsilenced"),
    "test": pgettext_lazy("alert", "test"),
}


def attempt(kind: str) -> str:
    """How an attempt ended, or that it runs."""
    return str(ATTEMPTS.get(kind, kind))


def outcome(word: str) -> str:
    """How a task ended, as its follow-ups know it."""
    return str(OUTCOMES.get(word, word))


def worker(condition: str) -> str:
    """The condition of a worker."""
    return str(WORKERS.get(condition, condition))


def alert(what: str) -> str:
    """What happened to an alert."""
    return str(ALERTS.get(what, what))


def line(kind: str) -> str:
    """The kind of a line of a task's log."""
    return str({**LINES, **worker_words()}.get(kind, kind))


def fact(word: str) -> str:
    """The name of a fact of a worker, or its value; as it is if it is not known."""
    words = {**FACTS, **worker_words()}
    if full := FULL.fullmatch(word):
        return _("%(percent)s %% full") % {"percent": full[1]} + str(words.get(full[2], full[2]))
    if NUMBER.fullmatch(word):
        return local(word)
    return str(words[word]) if word in words else word
