"""JSON encoding of arguments and results, the only form in which they are stored.

Datetimes, dates, times, durations, UUIDs, decimals, enums, data classes, msgspec Structs, bytes and sets are encoded by
msgspec. Paths and IP addresses become texts, pydantic models are dumped. The encoder of the project converts its own
classes (`queueops.tasks.encoder`). A Django model instance and every other type is refused, with advice. Empty bytes
stand for a call without arguments, and for None as a result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from django.db import models
from django.utils.functional import Promise

from queueops import conf
from queueops.errors import NotDecodable, NotEncodable, PayloadTooLarge
from queueops.model.encryption import refuse_sealed
from queueops.model.text_types import TEXT_TYPES
from queueops.tasks.encoder import ProjectEncoder, encoder_for

Arguments = tuple[list[Any], dict[str, Any]]

_GENERAL = "Use what JSON has, dates, UUIDs, decimals, enums, data classes or msgspec Structs."
_PLAIN: tuple[Callable[[Any], Any], ...] = (str.__str__, int.__int__, float.__float__)


def encode_arguments(name: str, args: Sequence[Any], kwargs: Mapping[str, Any], names: Sequence[str] = ()) -> bytes:
    """The arguments of one call of the task `name` as JSON `[[...],{...}]`, or empty bytes without arguments.

    `names` are the names of the positional parameters, for error messages. Raises NotEncodable and PayloadTooLarge.
    """
    if not args and not kwargs:
        return b""
    try:
        data = _encode((args, kwargs))
    except Exception as error:  # any error of an argument's own code while it is encoded
        raise _explain("arguments", name, _labelled(args, kwargs, names), error) from error
    if b"null" in data:
        _refuse_infinite("arguments", name, _labelled(args, kwargs, names))
    if len(data) > conf.current().payload_limit:
        raise PayloadTooLarge(what="arguments", name=name, size=len(data), limit=conf.current().payload_limit)
    return data


def encode_result(name: str, value: Any, what: str = "result", label: str = "it") -> bytes:
    """The result of the task `name` as JSON, or empty bytes for None. Raises NotEncodable and PayloadTooLarge.

    `what` and `label` name the value in their messages.
    """
    if value is None:
        return b""
    try:
        data = _encode(value)
    except Exception as error:  # any error of the result's own code while it is encoded
        raise _explain(what, name, [(label, value)], error) from error
    if b"null" in data:
        _refuse_infinite(what, name, [(label, value)])
    if len(data) > conf.current().payload_limit:
        raise PayloadTooLarge(what=what, name=name, size=len(data), limit=conf.current().payload_limit)
    return data


def decode_arguments(name: str, data: bytes) -> Arguments:
    """The positional and named arguments as plain JSON values. Raises NotDecodable."""
    if not data:
        return [], {}
    refuse_sealed("arguments", name, data)
    try:
        return _decode_arguments(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise NotDecodable(what="arguments", name=name, reason=str(error)) from error


def decode_result(name: str, data: bytes) -> Any:
    """A stored result as plain JSON values. Raises NotDecodable."""
    if not data:
        return None
    refuse_sealed("result", name, data)
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise NotDecodable(what="result", name=name, reason=str(error)) from error


def with_article(word: str) -> str:
    """A noun with its article, for a sentence."""
    return f"{'an' if word[:1].lower() in 'aeio' else 'a'} {word}"


class _Unfit(TypeError):
    """A value without a JSON form; the text is the advice."""


def plain(value: Any) -> Any:
    """Convert a value that msgspec does not know."""
    if isinstance(value, Promise):
        return str.__str__(str(value))
    if (encoder := encoder_for(type(value))) is not None:
        return _converted(encoder, value)
    for kind, convert in zip((str, int, float), _PLAIN, strict=True):
        if isinstance(value, kind):
            return convert(value)
    if isinstance(value, TEXT_TYPES):
        return str(value)
    if callable(dump := getattr(value, "model_dump", None)):  # pydantic
        return dump(mode="json")
    raise _Unfit(_advice(value))


def _converted(encoder: ProjectEncoder, value: Any) -> Any:
    try:
        found = encoder.encode(value)
    except ValueError as error:
        raise _Unfit(f"{error}.") from error
    if any(True for _ in _infinite([("it", found)])):
        raise _Unfit(f"The encoder {encoder.path} gave NaN or infinity, which JSON does not have.")
    return found


def _advice(value: Any) -> str:
    if isinstance(value, models.Model):
        return "Pass its primary key (.pk), and load it from the database inside the task."
    if isinstance(value, (models.QuerySet, models.Manager)):
        return "Pass a list of primary keys, and query inside the task."
    if isinstance(value, (range, Iterator)) or hasattr(value, "__next__"):
        return "Pass a list."
    if isinstance(value, tuple):  # as a value it is a list
        return "Its keys must be texts or numbers."
    if callable(value):
        return "Pass its name, and look it up inside the task."
    return _GENERAL


_encode = msgspec.json.Encoder(enc_hook=plain).encode
_decode_arguments = msgspec.json.Decoder(tuple[list[Any], dict[str, Any]]).decode

Labelled = Sequence[tuple[str, Any]]


def _labelled(args: Sequence[Any], kwargs: Mapping[str, Any], names: Sequence[str]) -> Labelled:
    numbered = [(names[i] if i < len(names) else f"argument {i + 1}", value) for i, value in enumerate(args)]
    return [*numbered, *kwargs.items()]


def _explain(what: str, name: str, values: Labelled, error: Exception) -> NotEncodable:
    for label, value in values:
        if (found := _culprit(label, value)) is not None:
            path, culprit, advice = found
            return NotEncodable(
                what=what, name=name, path=path, type=with_article(type(culprit).__qualname__), advice=advice
            )
    return NotEncodable(what=what, name=name, path="the whole", type="not JSON", advice=str(error))


def _advice_about(cause: Exception) -> str:
    if isinstance(cause, _Unfit):
        return str(cause)
    if isinstance(cause, RecursionError):
        return "It contains itself, or is nested too deeply."
    if isinstance(cause, UnicodeEncodeError):
        return "It is not valid Unicode (a lone surrogate)."
    return f"{cause}."


def _culprit(label: str, value: Any) -> tuple[str, Any, str] | None:
    """The path of the innermost value that cannot be encoded, the value, and advice: an error would keep its frames."""
    try:
        _encode(value)
    except Exception as error:  # any error of the value's own code, as above
        if not isinstance(error, RecursionError):
            for path, inner in (*_inside(label, value), *_encoded(label, value)):
                if (found := _culprit(path, inner)) is not None:
                    return found
        return label, value, _advice_about(error)
    return None


def _inside(label: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((f"{label}[{key!r}]", inner) for key, inner in value.items())
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from ((f"{label}[{number}]", inner) for number, inner in enumerate(value))


def _encoded(label: str, value: Any) -> Iterator[tuple[str, Any]]:
    if (encoder := encoder_for(type(value))) is not None:
        with suppress(ValueError):  # its own error is told by `_advice_about`
            yield f"encode({label})", encoder.encode(value)


def _refuse_infinite(what: str, name: str, values: Labelled) -> None:
    """Refuse NaN and infinity, which JSON does not have; msgspec would write null, which is another value."""
    for label, value in _infinite(values):
        raise NotEncodable(what=what, name=name, path=label, type=f"a float ({value})", advice="Use None, or a text.")


def _infinite(values: Labelled) -> Iterator[tuple[str, float]]:
    waiting = list(values)
    while waiting:
        label, value = waiting.pop()
        if isinstance(value, float) and not math.isfinite(value):
            yield label, value
        waiting.extend(_inside(label, value))
