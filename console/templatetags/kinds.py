"""Template tags of the kinds: those that each registered kind brings."""

from __future__ import annotations

from django import template

from console.ui.kind_pages import kind_pages

register = template.Library()

for pages in kind_pages():
    if pages.tags is not None:
        register.tags |= pages.tags.tags
        register.filters |= pages.tags.filters
