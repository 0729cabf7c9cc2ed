"""JSON text: a document in colours, and a task's arguments as two readable parts, for display and editing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import ngettext

from console.ui.formatting import count

LONGEST = 100_000
LINES = 400
TOKEN = re.compile(
    r'(?P<key>"(?:[^"\\]|\\.)*"(?=\s*:))|(?P<text>"(?:[^"\\]|\\.)*")'
    r"|(?P<number>-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)|(?P<word>\b(?:true|false|null)\b)"
)
EMPTY = ("[]", "{}")


def coloured(document: str) -> SafeString:
    """The document as escaped spans, with its text unchanged; it is cut after so many lines or characters.

    A note counts what is left out.
    """
    lines = document.split("\n")
    text = "\n".join(lines[:LINES])[:LONGEST]
    return format_html_join("", '<span class="{}">{}</span>', _pieces(text, len(document), len(lines) - LINES))


def split(document: str) -> tuple[str, str]:
    """Split `[[...], {...}]` in two; any other value is kept whole as the positional part."""
    try:
        positional, named = json.loads(document)
    except (ValueError, TypeError):
        return document, EMPTY[1]
    return _readable(positional), _readable(named)


def shown(document: str) -> list[tuple[str, str]]:
    """The parts that are not empty, with their names."""
    parts = zip(("positional", "named"), split(document), EMPTY, strict=True)
    return [(name, text) for name, text, empty in parts if text != empty]


def _pieces(text: str, length: int, more: int) -> Iterator[tuple[str, str]]:
    place = 0
    for found in TOKEN.finditer(text):
        if found.start() > place:
            yield "json-rest", text[place : found.start()]
        yield f"json-{found.lastgroup}", found.group()
        place = found.end()
    if place < len(text):
        yield "json-rest", text[place:]
    if more > 0:
        yield "json-cut", "\n… " + ngettext("%(n)s more line", "%(n)s more lines", more) % {"n": count(more)}
    elif length > len(text):
        yield "json-cut", f"\n… {count(length - len(text))}"


def _readable(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
