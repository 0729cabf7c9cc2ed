"""Annotations: how an argument or a result is converted back, and which types need no check."""

from __future__ import annotations

import enum
import inspect
import types
import typing
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

import msgspec

from queueops.model.text_types import either_version, is_text_type, read_text
from queueops.tasks.encoder import encoder_for

Accepted = frozenset[type] | None
Positional = Callable[[bytes], tuple[list[Any], dict[str, msgspec.Raw]]]

_SCALARS = frozenset({int, str, float, bool, bytes, datetime, date, time, timedelta, Decimal, UUID, type(None)})
_UNIONS = (typing.Union, types.UnionType)


def hints(func: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a function, with strings resolved; an unresolvable one is Any."""
    inner: Any = inspect.unwrap(func)
    while isinstance(inner, partial):  # like the iterate of an iterator, whose first argument no push gives
        inner = inspect.unwrap(inner.func)
    try:
        return typing.get_type_hints(inner, include_extras=True)
    except Exception:  # resolving evaluates the application's text, such as names that only type checkers import
        return {name: _hint(inner, name, value) for name, value in inspect.get_annotations(inner).items()}


def decoder_type(parameter: inspect.Parameter) -> Any:
    """The type to convert an argument to; Any if msgspec does not support the annotation."""
    wanted = Any if parameter.annotation is parameter.empty else either_version(parameter.annotation)
    if wanted is not Any and parameter.default is None:
        wanted = wanted | None if not isinstance(wanted, str) else Any
    return wanted if is_supported(wanted) else Any


def is_described(parameter: inspect.Parameter) -> bool:
    """Whether an annotation says what the argument is."""
    return parameter.annotation not in (parameter.empty, Any, object)


def is_open(wanted: Any) -> bool:
    """Whether a type leaves a part of the value open, as a bare `dict` leaves its values."""
    return any(isinstance(kind, msgspec.inspect.AnyType) for kind in _walk(msgspec.inspect.type_info(wanted), set()))


def accepted(wanted: Any) -> Accepted:
    """The exact types whose values are all valid. None: all types. An empty set: only a trial conversion shows it."""
    if wanted is Any:
        return None
    members = typing.get_args(wanted) if typing.get_origin(wanted) in _UNIONS else (wanted,)
    return frozenset(member for member in (type(None) if m is None else m for m in members) if _is_simple(member))


def is_supported(wanted: Any) -> bool:
    """Whether values can be converted to this type."""
    try:
        found = msgspec.inspect.type_info(wanted)
        decoder(wanted)
    except Exception:  # msgspec has many errors for an unsupported type, and inspects the application's classes
        return False
    return not any(_is_foreign(kind) for kind in _walk(found, set()))


def needs_encoder(wanted: Any) -> bool:
    """Whether a supported type has a class of the project's encoder in it."""
    kinds = _walk(msgspec.inspect.type_info(wanted), set())
    return any(isinstance(kind, msgspec.inspect.CustomType) and encoder_for(kind.cls) for kind in kinds)


def decoder(wanted: Any) -> msgspec.json.Decoder[Any]:
    """The decoder of one argument."""
    return msgspec.json.Decoder(wanted, dec_hook=_made)


def positional_decoder(wanted: Sequence[Any], more: Any = None) -> Positional:
    """Decodes a call `[[...],{...}]`: the positional arguments converted, the named ones still raw.

    `more` is the type of the elements of `*args`; None if the function does not have this parameter.
    """
    if more is not None:
        return _open_decoder(wanted, more)
    fields = [(f"argument_{number}", kind, msgspec.UNSET) for number, kind in enumerate(wanted)]
    holder: Any = msgspec.defstruct("Positional", fields, array_like=True, forbid_unknown_fields=True)
    call = msgspec.json.Decoder(tuple[holder, dict[str, msgspec.Raw]], dec_hook=_made).decode
    unset, values_of = msgspec.UNSET, msgspec.structs.astuple

    def decode(data: bytes) -> tuple[list[Any], dict[str, msgspec.Raw]]:
        held, named = call(data)
        values = list(values_of(held))
        while values and values[-1] is unset:
            values.pop()
        return values, named

    return decode if fields else _plain_call


def _open_decoder(wanted: Sequence[Any], more: Any) -> Positional:
    first, rest = [decoder(kind) for kind in wanted], decoder(more)

    def decode(data: bytes) -> tuple[list[Any], dict[str, msgspec.Raw]]:
        raw, named = _raw_call(data)
        return [_numbered(i, first[i] if i < len(first) else rest, value) for i, value in enumerate(raw)], named

    return decode


def _numbered(number: int, one: msgspec.json.Decoder[Any], value: msgspec.Raw) -> Any:
    """One element of the call, with its position in an error's message."""
    try:
        return one.decode(value)
    except msgspec.ValidationError as error:
        place, text = f"`$[0][{number}]", str(error)
        text = text.replace("`$", place) if "`$" in text else f"{text} - at {place}`"
        raise msgspec.ValidationError(text) from error


_raw_call = msgspec.json.Decoder(tuple[list[msgspec.Raw], dict[str, msgspec.Raw]]).decode
_plain_call = msgspec.json.Decoder(tuple[list[Any], dict[str, msgspec.Raw]]).decode


def _hint(func: Callable[..., Any], name: str, value: Any) -> Any:
    holder = types.SimpleNamespace(__annotations__={name: value})
    try:
        return typing.get_type_hints(holder, globalns=func.__globals__, include_extras=True)[name]
    except Exception:  # resolving one annotation evaluates the application's text, too
        return Any


def _is_simple(kind: Any) -> bool:
    return kind in _SCALARS or (isinstance(kind, type) and issubclass(kind, enum.Enum))


def _is_foreign(kind: Any) -> bool:
    if not isinstance(kind, msgspec.inspect.CustomType):
        return False
    return not (hasattr(kind.cls, "model_validate") or is_text_type(kind.cls) or encoder_for(kind.cls))


def _walk(kind: Any, seen: set[int]) -> typing.Iterator[Any]:
    """Yield a type of `msgspec.inspect` and all types inside it."""
    if id(kind) in seen:
        return
    seen.add(id(kind))
    if isinstance(kind, (tuple, list)):
        for part in kind:
            yield from _walk(part, seen)
    elif isinstance(kind, msgspec.Struct):
        yield kind
        for field in kind.__struct_fields__:
            yield from _walk(getattr(kind, field), seen)


def _made(kind: type[Any], value: Any) -> Any:
    """Make an instance of a class that msgspec does not know: of the project's encoder, a path, a pydantic model."""
    if (encoder := encoder_for(kind)) is not None:
        return encoder.decode(kind, value)
    return read_text(kind, value) if is_text_type(kind) else kind.model_validate(value)
