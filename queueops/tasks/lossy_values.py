"""Lossy values: finds the part of a value that its annotation does not bring back from JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from django.utils.functional import Promise

from queueops.errors import NotEncodable
from queueops.tasks.encoder import encoder_for
from queueops.tasks.encoding import encode_result, with_article

PLAIN: frozenset[type] = frozenset({str, int, float, bool, type(None)})
"""The types of single JSON values: nothing of them is lost."""
_JSON = frozenset({*PLAIN, dict, list})
_BYTES = (bytes, bytearray, memoryview)
_FIELDS = ("__struct_fields__", "__dataclass_fields__", "__pydantic_fields__")


class Lost(NamedTuple):
    """A part that comes back as another value: its place, its type with an article, and the fault of an encoder."""

    place: str
    type: str
    fault: str = ""


def lost(place: str, given: Any, found: Any, *, is_open: bool) -> Lost | None:
    """The first part of `given` that came back in `found` as another value; tuples may come back as lists.

    An annotation without open parts may ask for another form, as `str` for a UUID. It never gets bytes as base64, and
    never the text of a number.
    """
    if type(given) not in _JSON and type(found) not in _JSON and (encoder := encoder_for(type(given))) is not None:
        is_same = encode_result("", given) == encode_result("", found)
        fault = f"The encoder {encoder.path} makes another value of it: its decode must undo its encode."
        return None if is_same else Lost(place, _type(given), fault)
    if given is None or isinstance(given, (str, Promise)):
        return None
    if isinstance(given, (int, float)):  # a number that came back as a text is a key
        return Lost(place, _type(given)) if isinstance(found, str) else None
    if isinstance(given, (dict, list, tuple)):
        parts = (lost(*part, is_open=is_open) for part in _parts(place, given, found))
        return next(filter(None, parts), None)
    if type(found) in _JSON:
        return Lost(place, _type(given)) if is_open or isinstance(given, _BYTES) else None
    parts = (lost(f"{place}.{name}", *both, is_open=is_open) for name, both in _fields(given, found))
    return next(filter(None, parts), None)


def encode_plain(name: str, value: Any, what: str, label: str = "it") -> bytes:
    """A value that comes back as plain JSON, with no annotation for it. Bytes, and keys that are numbers, are refused.

    Raises NotEncodable and PayloadTooLarge.
    """
    data = encode_result(name, value, what, label)
    part = None if type(value) in PLAIN else lost(label, value, msgspec.json.decode(data), is_open=False)
    if part is not None:
        advice = "It comes back as plain JSON. Use a text, and texts as keys."
        raise NotEncodable(what=what, name=name, path=part.place, type=part.type, advice=advice)
    return data


def _parts(place: str, given: Any, found: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(given, dict) and isinstance(found, dict):
        for (key, value), (found_key, found_value) in zip(given.items(), found.items(), strict=False):
            yield f"the key {key!r} of {place}", key, found_key
            yield f"{place}[{key!r}]", value, found_value
    elif not isinstance(given, dict) and isinstance(found, (list, tuple)):
        for number, (value, found_value) in enumerate(zip(given, found, strict=False)):
            yield f"{place}[{number}]", value, found_value


def _fields(given: Any, found: Any) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """The fields of a data class, a Struct or a model of pydantic that came back as one."""
    for name in next((getattr(given, fields) for fields in _FIELDS if hasattr(given, fields)), ()):
        if hasattr(given, name) and hasattr(found, name):
            yield name, (getattr(given, name), getattr(found, name))


def _type(value: Any) -> str:
    return with_article(type(value).__qualname__)
