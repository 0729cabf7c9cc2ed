"""Break points: long names wrap at their punctuation, and within a word only if a part is too long."""

from __future__ import annotations

import re

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

BEHIND_A_SIGN = re.compile(r"(?<=\w[.:/_@#])(?=\w)")


def breakable(text: str) -> SafeString:
    """The text, escaped, with a `<wbr>` behind each sign between two letters or digits."""
    *parts, last = BEHIND_A_SIGN.split(text)
    return format_html("{}{}", format_html_join("", "{}<wbr>", ((part,) for part in parts)), last)
