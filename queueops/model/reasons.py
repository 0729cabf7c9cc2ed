"""Cancel reason: a text of bounded length that can be stored."""

from __future__ import annotations

LONGEST_REASON = 500
"""Characters of a reason that are kept."""


def kept(reason: object) -> str:
    """The reason as a text, cut at LONGEST_REASON characters, without characters that UTF-8 cannot encode."""
    return str(reason)[:LONGEST_REASON].encode("utf-8", "replace").decode()
