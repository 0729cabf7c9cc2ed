"""Ids in sentences: each id of a task, as the engine makes them, is a link to the task."""

from __future__ import annotations

import re

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from console.ui.links import url
from queueops.model.sentences import translated

ULID = re.compile(r"(?<![\w.@/:#-])[0-7][0-9A-HJKMNP-TV-Z]{25}(?:#[0-9]{1,9})?(?![\w@/-])")


def linked(text: str, target: str = "") -> SafeString:
    """The text, escaped; ULIDs and `target`, if it is the whole text, lead to the find page, which opens the task."""
    text = translated(text)
    if target and text == target:
        return _link(text)
    parts: list[str] = []
    place = 0
    for found in ULID.finditer(text):
        parts += [text[place : found.start()], _link(found[0])]
        place = found.end()
    return format_html_join("", "{}", ((part,) for part in [*parts, text[place:]]))


def _link(id: str) -> SafeString:
    return format_html('<a href="{}">{}</a>', url("find", {"q": id}), id)
