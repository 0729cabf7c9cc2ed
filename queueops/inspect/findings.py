"""How a check is told: all is well, or this is what holds the task up, and what mends it."""

from __future__ import annotations

from queueops.inspect.models import Finding


def good(text: str, value: str = "", verb: str | None = None, target: str = "") -> Finding:
    """A check that found nothing wrong."""
    return Finding(ok=True, text=text, value=value, verb=verb, target=target)


def bad(text: str, value: str = "", verb: str | None = None, target: str = "", place: str = "") -> Finding:
    """A check that found what holds the task up; `verb`, done to `target`, mends it, and `place` tells more of it."""
    return Finding(ok=False, text=text, value=value, verb=verb, target=target, place=place)
