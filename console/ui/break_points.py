"""Break points: long names wrap at their punctuation, and within a word only if a part is too long."""

from __future__ import annotations

import re

from django.utils.html import escape
from django.utils.safestring import SafeString

BEHIND_A_SIGN = re.compile(r"(?<=\w[.:/_@#])(?=\w)")


def breakable(text: str) -> SafeString:
    """The text, escaped, with a `<wbr>` behind each sign between two letters or digits."""
    return SafeString("<wbr>".join(escape(part) for part in BEHIND_A_SIGN.split(text)))
