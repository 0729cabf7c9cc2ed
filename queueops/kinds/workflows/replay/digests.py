"""Digests of arguments: two calls of a replay are the same if their digests are, whatever the order of sets in them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from queueops.kinds.workflows.events import digest
from queueops.tasks.encoding import plain

_PLAIN = (str, int, float, bytes, type(None))
_encode_ordered = msgspec.json.Encoder(enc_hook=plain, order="deterministic").encode


def digest_of(encoded: bytes, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """The digest of the arguments of a call. The order of a set differs between processes, and does not count."""
    if _has_set(args) or (kwargs and _has_set(kwargs.values())):
        encoded = _encode_ordered((args, kwargs))
    return digest(encoded)


def _has_set(values: Iterable[Any]) -> bool:
    return any(not isinstance(value, _PLAIN) and _is_or_has_set(value) for value in values)


def _is_or_has_set(value: Any) -> bool:
    if isinstance(value, set | frozenset):
        return True
    if isinstance(value, list | tuple):
        return _has_set(value)
    if isinstance(value, dict):
        return _has_set(value.values())
    if isinstance(value, msgspec.Struct):
        return _has_set(getattr(value, name) for name in value.__struct_fields__)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _has_set(getattr(value, field.name) for field in dataclasses.fields(value))
    return False
