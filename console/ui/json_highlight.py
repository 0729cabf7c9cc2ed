"""JSON highlighting: marks keys, strings, numbers and literals for colours. The text itself is not changed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.utils.html import format_html_join
from django.utils.safestring import SafeString

LONGEST = 100_000
TOKEN = re.compile(
    r'(?P<key>"(?:[^"\\]|\\.)*"(?=\s*:))|(?P<text>"(?:[^"\\]|\\.)*")'
    r"|(?P<number>-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)|(?P<word>\b(?:true|false|null)\b)"
)


def coloured(document: str) -> SafeString:
    """The document as escaped spans; it is cut after LONGEST characters, with a note."""
    return format_html_join("", '<span class="{}">{}</span>', _pieces(document[:LONGEST], len(document)))


def _pieces(text: str, length: int) -> Iterator[tuple[str, str]]:
    place = 0
    for found in TOKEN.finditer(text):
        if found.start() > place:
            yield "json-rest", text[place : found.start()]
        yield f"json-{found.lastgroup}", found.group()
        place = found.end()
    if place < len(text):
        yield "json-rest", text[place:]
    if length > len(text):
        yield "json-cut", f"\n… {length - len(text):,}"
