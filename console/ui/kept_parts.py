"""Kept parts: HTML that is the same on many pages, rendered once for each set of values that it depends on."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from django.template import Context, Template
from django.template.loader import get_template
from django.utils.safestring import SafeString

from console.ui.links import Scope, url_scope
from console.ui.static_files import sprite


def kept(template: str, **values: Hashable) -> SafeString:
    """Render a template that gets these values and nothing else: no request, no user, no variable of the page.

    It may depend on the language, on URLs and on the icon sprite. Static files, times and numbers are given as text.
    """
    compiled: Any = get_template(template)
    return _rendered(compiled.template, url_scope(), sprite(), **values)


@lru_cache(maxsize=256, typed=True)  # typed: text that is to be escaped may equal text that is HTML
def _rendered(template: Template, scope: Scope, _sprite: str, /, **values: Hashable) -> SafeString:
    context: Any = Context(values)
    context.request = SimpleNamespace(current_app=scope[-1])  # what the tag `url` asks for
    return template.render(context)
