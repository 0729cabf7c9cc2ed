"""Findings: the result of each check, as passed or as a problem with its remedy."""

from __future__ import annotations

from typing import ClassVar

from queueops.inspect.answers import Answer
from queueops.model.sentences import Sentence


class Finding(Answer, frozen=True, kw_only=True):
    """One check: whether it passed, the value that was read, and the verb of queueops.control that repairs it."""

    TEXTS: ClassVar = ("text", "value")
    STORED: ClassVar = ("value",)

    ok: bool
    text: str
    value: str = ""
    verb: str | None = None
    target: str = ""  # target of the verb: a task id, `pool/lane`, a worker id
    place: str = ""  # page with more about it: `lanes`, `workers`, `name`, or the `parts` of `target`
    is_cause: bool = False  # the value is the cause, such as an error


def good(text: Sentence, value: str = "", verb: str | None = None, target: str = "") -> Finding:
    """A check that passed."""
    return Finding(ok=True, text=text, value=value, verb=verb, target=target)


def bad(text: Sentence, value: str = "", verb: str | None = None, target: str = "", place: str = "") -> Finding:
    """A check that found a problem; `verb` on `target` repairs it, and `place` names the page with more."""
    return Finding(ok=False, text=text, value=value, verb=verb, target=target, place=place)


def caused(text: Sentence, cause: str, verb: str | None = None, target: str = "") -> Finding:
    """A check that found a problem whose value is its cause."""
    return Finding(ok=False, text=text, value=cause, verb=verb, target=target, is_cause=True)
