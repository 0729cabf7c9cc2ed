"""Passwords out of addresses, before a text is shown or logged."""

from __future__ import annotations

import re

_PASSWORD = re.compile(r"(?P<before>\b[a-z][a-z0-9+.-]*://[^\s/@:]*):(?P<password>[^\s/]*)@", re.IGNORECASE)
_STORE = re.compile(r"(?P<before>\b(?:rediss?|unix)(?:\+[a-z]+)?://[^\s/@:]*):(?P<password>\S*)@", re.IGNORECASE)
"""Of a store's address all before the last @ may be a password, also / ? #, which are wrong there."""
_QUERY = re.compile(r"(?P<key>[?&](?:[a-z_]*password|secret|token)=)[^\s&#]*", re.IGNORECASE)


def scrub(text: str) -> str:
    """The text with every password of a URL in it replaced by `***`: `redis://user:***@host/0`."""
    for password in (_STORE, _PASSWORD):
        text = password.sub(r"\g<before>:***@", text)
    return _QUERY.sub(r"\g<key>***", text)
