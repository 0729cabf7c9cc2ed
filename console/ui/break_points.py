"""Break points: long names wrap at their punctuation, and within a word only if a part is too long."""

from __future__ import annotations

import re

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString

BEHIND_A_SIGN = re.compile(r"(?<=\w[.:/_@#])(?=\w)")
BREAK = format_html("<{}>", "wbr")


def breakable(text: str) -> SafeString:
    """The text, escaped, with a `<wbr>` behind each sign between two letters or digits."""
    first, *others = BEHIND_A_SIGN.split(text)
    found: SafeString = escape(first)
    for part in others:
        found += BREAK + escape(part)
    return found
