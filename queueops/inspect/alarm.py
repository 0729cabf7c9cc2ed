"""Alarm: a condition that needs an operator, with its remedy."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any, ClassVar

from queueops.inspect.answers import Answer
from queueops.inspect.spans import span

NO_WATCHDOG_MS = 15_000


class Alarm(Answer, frozen=True, kw_only=True):
    """A condition that needs an operator, with its remedy: a command to type, and where there is one, a verb."""

    TEXTS: ClassVar = ("text", "command")

    level: str  # warning, danger
    text: str
    url_hint: str = ""  # page with more about it: workers, worker?id=..., lanes, tasks?..., health
    command: str = ""  # what to type in a terminal: it mends the condition, or shows its cause
    verb: str = ""  # resume_lane, pause_name, resume_name, interrupt, or one of a kind's alarms
    target: str = ""  # of the verb: `pool/name`
    about: str = ""  # which condition, of what: the same as long as it lasts
    failed: int = 0  # failed attempts: of alarms of one level, that with the most is the worst

    @property
    def subject(self) -> str:
        """The same text as long as the condition lasts, whatever its figures are."""
        words = self.command.split(" ")
        told = (word for before, word in zip(("", *words), words, strict=False) if before not in _FIGURES)
        return self.about or " ".join((self.url_hint, *told))


def warning(text: str, hint: str, command: str, verb: str = "", target: str = "") -> Alarm:
    """A condition to look at; `hint` is the page with more about it, `command` or `verb` the remedy."""
    return Alarm(level="warning", text=text, url_hint=hint, command=command, verb=verb, target=target)


def danger(text: str, hint: str, command: str) -> Alarm:
    """A condition that loses work, or stops it."""
    return Alarm(level="danger", text=text, url_hint=hint, command=command)


_FIGURES = ("--limit", "--rate", "maxmemory")
"""Words of a command that a figure follows."""


def manage(*words: str) -> str:
    """A command of `manage.py`, as it is typed into a shell."""
    return shlex.join(("manage.py", *words))


CHECK = manage("check", "--deploy")
"""It says why the store does not answer."""


def no_watchdog(pool: str, sampled: Mapping[str, Any]) -> str:
    """A sentence if no watchdog serves the pool."""
    tick = (sampled.get("clock") or {}).get("tick")
    if tick is None:
        return f"No watchdog has served the pool {pool} yet"
    age = sampled["taken"] - tick
    return f"No watchdog serves the pool {pool}: the last one ran {span(age)} ago" if age > NO_WATCHDOG_MS else ""
