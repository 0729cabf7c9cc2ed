"""Task metadata: a small dict that the producer gives to a push, and that the task's descendants inherit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from queueops.errors import BadOption, PayloadTooLarge
from queueops.tasks.lossy_values import encode_plain

META_LIMIT = 4096
"""Maximum bytes of JSON: each descendant has a copy."""
_EXPECTED = 'a dict whose keys are texts, such as {"tenant": 7}'


def encode_meta(value: Any) -> bytes:
    """Encode metadata for the store; empty bytes for none. Raises BadOption, NotEncodable and PayloadTooLarge."""
    if not value and (value is None or isinstance(value, Mapping)):
        return b""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) and key for key in value):
        raise BadOption(name="meta", value=value, expected=_EXPECTED)
    return _bounded(encode_plain("a push", dict(value), "metadata", label="meta"))


def decode_meta(data: bytes) -> dict[str, Any]:
    """Decode stored metadata; empty for other data, such as the alias that a backend of django.tasks writes."""
    if not data.startswith(b"{"):
        return {}
    try:
        found: dict[str, Any] = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    return found


def merged(inherited: bytes, own: bytes) -> bytes:
    """The metadata of a descendant: inherited and own. Raises PayloadTooLarge."""
    if not own or not inherited:
        return own or (inherited if inherited.startswith(b"{") else b"")
    return _bounded(msgspec.json.encode(decode_meta(inherited) | decode_meta(own)))


def _bounded(data: bytes) -> bytes:
    if len(data) > META_LIMIT:
        raise PayloadTooLarge(what="metadata", name="a push", size=len(data), limit=META_LIMIT)
    return data
