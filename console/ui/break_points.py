"""Break points: long names wrap at their punctuation, and within a word only if a part is too long."""

from __future__ import annotations

import re

from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

PUNCTUATION = re.compile(r"(?<=[\w])([.:/_@#])(?=[\w])")


def breakable(text: str) -> SafeString:
    """The text, escaped, with a `<wbr>` behind each sign between two letters or digits."""
    parts = PUNCTUATION.split(str(text))  # text, sign, text, sign, ...
    escaped = [str(conditional_escape(part)) for part in parts]
    joined = "".join(f"{part}<wbr>" if number % 2 else part for number, part in enumerate(escaped))
    return mark_safe(joined)  # noqa: S308 - all parts are escaped
