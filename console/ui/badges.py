"""Badges: the HTML of icons and of states."""

from __future__ import annotations

from functools import lru_cache

from django.utils.safestring import SafeString

from console.ui.markup import markup
from console.ui.state_badges import Look
from console.ui.static_files import sprite


def icon(name: str, label: str = "") -> SafeString:
    """An icon of the sprite; hidden from screen readers, unless it has a label."""
    return _labelled(name, label) if label else _hidden(sprite(), name)


def _labelled(name: str, label: str) -> SafeString:
    address = f"{sprite()}#{name}"
    return markup('<svg class="icon" role="img" aria-label="{}"><use href="{}"></use></svg>', label, address)


@lru_cache(maxsize=512)
def _hidden(sprite: str, name: str) -> SafeString:
    return markup('<svg class="icon" aria-hidden="true"><use href="{}#{}"></use></svg>', sprite, name)


def condition(name: str, words: str, colour: str) -> SafeString:
    """A condition: icon and label, in a colour of the style sheet."""
    return markup('<span class="condition condition-{}">{}{}</span>', colour, icon(name), words)


def badge(look: Look, name: str, stored: str = "") -> SafeString:
    """The badge of a state; its tooltip has the stored word if that is another one."""
    meaning = look.meaning if stored in ("", name) else f"{stored}: {look.meaning}"
    span = '<span class="state {}" title="{}">{}{}</span>'
    return markup(span, look.css_class, meaning, icon(look.icon), name)
