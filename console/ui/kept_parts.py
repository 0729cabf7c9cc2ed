"""Kept parts: HTML and texts that are the same on many pages, made once for each set of values they depend on."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from django.template import Context, Template
from django.template.base import Node
from django.template.loader import get_template
from django.templatetags.i18n import TranslateNode, do_translate
from django.utils.safestring import SafeString

from console.ui.links import Scope, url_scope
from console.ui.static_files import sprite
from queueops.model.sentences import language


def kept(template: str, **values: Hashable) -> SafeString:
    """Render a template that gets these values and nothing else: no request, no user, no variable of the page.

    It may depend on the language, on URLs and on the icon sprite. Static files are given as text, and for times also
    the zone.
    """
    compiled: Any = get_template(template)
    return _rendered(compiled.template, url_scope(), sprite(), **values)


def kept_briefly(template: str, **values: Hashable) -> SafeString:
    """The same for a large part that soon has other values: only the latest are kept."""
    compiled: Any = get_template(template)
    return _large(compiled.template, url_scope(), sprite(), **values)


def _render(template: Template, scope: Scope, _sprite: str, /, **values: Hashable) -> SafeString:
    context: Any = Context(values, use_l10n=False)
    context.request = SimpleNamespace(current_app=scope[-1])  # what the tag `url` asks for
    return template.render(context)


# typed: text that is to be escaped may equal text that is HTML
_rendered = lru_cache(maxsize=256, typed=True)(_render)
_large = lru_cache(maxsize=16, typed=True)(_render)


class KeptText(TranslateNode):
    """A constant text of a template, translated once for each language: a page has more than a hundred."""

    def __init__(self, node: TranslateNode) -> None:
        super().__init__(node.filter_expression, node.noop, None, node.message_context)
        self._variable = node.asvar
        self._texts: dict[str, str] = {}

    def render(self, context: Context) -> str:
        """The text; nothing if the template wants it as a variable."""
        spoken = language()
        if spoken not in self._texts:
            self._texts[spoken] = super().render(context)
        if not self._variable:
            return self._texts[spoken]
        context[self._variable] = self._texts[spoken]
        return ""


def kept_text(parser: Any, token: Any) -> Node:
    """Django's tag `translate`."""
    node = do_translate(parser, token)
    text, meant = node.filter_expression, node.message_context
    is_constant = text.var.literal is not None and not text.filters and (meant is None or not meant.is_var)
    return KeptText(node) if is_constant else node
