"""Alarm: a condition that needs an operator, with its remedy."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from msgspec.structs import force_setattr

from queueops import conf
from queueops.inspect.answers import Answer
from queueops.inspect.spans import span
from queueops.model.sentences import Sentence, say

NO_WATCHDOG_MS = 15_000
MOST_POOLS = 3
"""The most pools that an alarm of several pools names."""


class Alarm(Answer, frozen=True, kw_only=True):
    """A condition that needs an operator, with its remedy: a command to type, and where there is one, a verb.

    Two readings tell of the same condition if their alarms have the same `key`.
    """

    TEXTS: ClassVar = ("text", "command")

    level: str  # warning, danger
    text: str
    url_hint: str = ""  # page with more about it: workers, worker?id=..., lanes, tasks?..., health
    command: str = ""  # what to type in a terminal: it mends the condition, or shows its cause
    verb: str = ""  # resume_lane, pause_name, resume_name, interrupt, or one of a kind's alarms
    target: str = ""  # of the verb: `pool/name`
    key: str = ""  # the kind of the cause, then its subject: the same as long as it lasts, whatever its figures are
    since_ms: int | None = None  # when it began; None: it is new, or no watchdog has reported it
    pools: tuple[str, ...] = ()  # the pools that it concerns; empty: the store, and so all of them
    consequences: tuple[str, ...] = ()  # what follows from it, in a sentence each
    followers: tuple[str, ...] = ()  # the keys of alarms that follow from it; before they are joined: that may follow
    failed: int = 0  # failed attempts: of alarms of one level, that with the most is the worst

    def __post_init__(self) -> None:
        """Without a key, the page and the command without store and figures tell one alarm from the others."""
        super().__post_init__()
        if not self.key:
            words = _ELSEWHERE.sub("", self.command).split(" ")
            told = (word for before, word in zip(("", *words), words, strict=False) if before not in _FIGURES)
            force_setattr(self, "key", " ".join((self.url_hint, *told)))

    @property
    def kind(self) -> str:
        """The kind of the cause."""
        return self.key.partition(" ")[0]


def warning(text: Sentence, hint: str, command: str, verb: str = "", target: str = "", **more: Any) -> Alarm:
    """A condition to look at; `hint` is the page with more about it, `command` or `verb` the remedy."""
    return Alarm(level="warning", text=text, url_hint=hint, command=command, verb=verb, target=target, **more)


def danger(text: Sentence, hint: str, command: str, **more: Any) -> Alarm:
    """A condition that loses work, or stops it."""
    return Alarm(level="danger", text=text, url_hint=hint, command=command, **more)


_FIGURES = ("--limit", "--rate", "maxmemory")
"""Words of a command that a figure follows."""
_ELSEWHERE = re.compile(r" --store [\w-]+| \(in the project of [\w-]+\)$")
"""What `manage` adds for another store. A watchdog of that store does not add it."""
CHECK = ("check", "--deploy")
"""It says why the store does not answer."""


def manage(*words: str) -> str:
    """A command of `manage.py`, as it is typed into a shell. For another store `queue` names it.

    All other commands serve the project's own store, so those of another store are for the project that owns it.
    """
    store = conf.store_name()
    if store and words[0] == "queue":
        words = ("queue", "--store", store, *words[1:])
    command = shlex.join(("manage.py", *words))
    return f"{command} (in the project of {store})" if store and words[0] != "queue" else command


def no_watchdog(pool: str, sampled: Mapping[str, Any]) -> Sentence | None:
    """A clause without its full stop, if no watchdog serves the pool."""
    tick = (sampled.get("clock") or {}).get("tick")
    if tick is None:
        return say("No watchdog has served the pool %(pool)s yet", pool=pool)
    if (age := sampled["taken"] - tick) <= NO_WATCHDOG_MS:
        return None
    return say("No watchdog serves the pool %(pool)s: the last one ran %(age)s ago", pool=pool, age=span(age))


def in_pools(pools: Iterable[str]) -> Sentence:
    """`pool a`, `pools a and b`, `pools a, b, c and 2 more`."""
    (*others, last) = pools
    if not others:
        return say("pool %(name)s", name=last)
    if len(others) < MOST_POOLS:
        return say("pools %(names)s and %(last)s", names=", ".join(others), last=last)
    more = len(others) + 1 - MOST_POOLS
    return say("pools %(names)s and %(more)s more", names=", ".join(others[:MOST_POOLS]), more=more)
