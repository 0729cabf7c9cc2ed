"""Findings: the result of each check, as passed or as a problem with its remedy."""

from __future__ import annotations

from queueops.inspect.models import Finding


def good(text: str, value: str = "", verb: str | None = None, target: str = "") -> Finding:
    """A check that passed."""
    return Finding(ok=True, text=text, value=value, verb=verb, target=target)


def bad(text: str, value: str = "", verb: str | None = None, target: str = "", place: str = "") -> Finding:
    """A check that found a problem; `verb` on `target` repairs it, and `place` names the page with more."""
    return Finding(ok=False, text=text, value=value, verb=verb, target=target, place=place)
