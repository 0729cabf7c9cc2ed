"""The store's URL without its secrets. It is known as a whole: its parts are masked, whatever characters they have."""

from __future__ import annotations

import re
from urllib.parse import unquote

from queueops.model.redact_text import IN_URL

_QUERY = re.compile(r"\?(?=[\w%.-]+=)")
"""Where the query begins. A `?` without a name and a value behind it may be a part of a password."""
_HOST = r"(?:\[[0-9a-fA-F:.%]*\]|[\w.%-]*)(?::[0-9]{0,5})?"
_ADDRESS = re.compile(rf"{_HOST}(?:,{_HOST})*(?:/[^@]*)?")
_SHOWN = re.compile(
    r"(?:sentinel_)?"
    r"(?:db|username|client_name|max_connections|health_check_interval|(?:socket|ssl)_(?!password|ca_data)\w+)"
)
"""Options whose values are shown. What else follows a `&` may be a part of a password."""


def masked(url: str) -> str:
    """The URL, with a mask for its password and for each value that is not known to be harmless."""
    scheme, mark, rest = url.partition("://")
    if not mark:
        return url if url.startswith("embedded:") or "@" not in url else f"{IN_URL}@{url.rpartition('@')[2]}"
    if scheme == "embedded":
        return url
    head, *query = _QUERY.split(rest, maxsplit=1)
    pairs = [_pair(pair) for each in query for pair in each.split("&")]
    if None in pairs:
        return f"{scheme}://{IN_URL}"
    shown = "&".join(filter(None, pairs))
    return f"{scheme}://{_head(head, is_path=scheme == 'unix')}{'?' if query else ''}{shown}"


def _head(head: str, *, is_path: bool) -> str:
    """The user and the address. Without an `@` it is an address, or a password whose host is missing."""
    user, at, address = head.rpartition("@")
    if is_path and head.startswith("/"):
        return head
    if at:
        name, colon, _ = user.partition(":")
        return f"{name}:{IN_URL}@{address}" if colon else f"{IN_URL}@{address}"
    return head if _ADDRESS.fullmatch(head) else f"{head.partition(':')[0]}:{IN_URL}" if ":" in head else IN_URL


def _pair(pair: str) -> str | None:
    """A pair of the query; None if it shows that the query began within a password."""
    name, sign, value = pair.partition("=")
    if not sign:
        return IN_URL
    if not _SHOWN.fullmatch(unquote(name)):
        is_secret = "@" not in value or "pass" in unquote(name)
        return f"{name}={IN_URL}" if is_secret else None
    return pair if "@" not in value else None
