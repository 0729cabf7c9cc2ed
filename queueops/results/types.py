"""Result types: store a result, and convert it back to the return annotation of its task."""

from __future__ import annotations

import inspect
import typing
from collections import abc
from collections.abc import Callable, Sequence
from types import GenericAlias
from typing import Any

import msgspec

from queueops.errors import NotDecodable, NotEncodable
from queueops.errors.results import BadResult
from queueops.model.encryption import refuse_sealed
from queueops.model.text_types import either_version
from queueops.tasks import registry
from queueops.tasks.annotations import decoder, hints, is_open, is_supported, needs_encoder
from queueops.tasks.encoding import decode_result, encode_result, with_article
from queueops.tasks.lossy_values import PLAIN, encode_plain, lost

_GENERATORS = (abc.Generator, abc.AsyncGenerator, abc.Iterator, abc.AsyncIterator, abc.Iterable, abc.AsyncIterable)
_BROKEN = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_RETURNED = 2  # the place of the return type in Generator[yielded, sent, returned]


class ResultType:
    """The type of a task's result: that of its return annotation, or plain JSON."""

    __slots__ = ("_annotation", "_decoders", "_name", "_wanted")

    def __init__(self, name: str, annotation: Any = Any, wanted: Sequence[Any] = ()) -> None:
        """Of several types, the first that fits. Without types: plain JSON."""
        self._name = name
        self._annotation = annotation
        self._wanted = wanted
        self._decoders = [decoder(each) for each in wanted]

    @classmethod
    def of(cls, function: Callable[..., Any], name: str) -> ResultType:
        """The type that a function or a coroutine function returns."""
        annotation = hints(function).get("return", Any)
        return cls(name, annotation, _supported([either_version(annotation)]))

    @classmethod
    def of_generator(cls, function: Callable[..., Any], name: str) -> ResultType:
        """The type that a generator returns, or the list of the types that it yields."""
        annotation = hints(function).get("return", Any)
        return cls(name, annotation, _supported(_of_generator(annotation)))

    @classmethod
    def of_encoder(cls, function: Callable[..., Any], place: str, name: str) -> ResultType | None:
        """The type of a parameter, or of the "return", if the encoder of the project makes a part of it; else None."""
        annotation = hints(function).get(place, Any)
        wanted = _supported([either_version(annotation)])
        return cls(name, annotation, wanted) if any(map(needs_encoder, wanted)) else None

    @property
    def encode(self) -> Callable[[str, Any], bytes]:
        """How a result is stored: `encode_result`, with a check if the type brings it back."""
        return self._checked if self._decoders else encode_result

    def _checked(self, name: str, value: Any) -> bytes:
        data = encode_result(name, value)
        if type(value) not in PLAIN:
            self._check_kept(value, data)
        return data

    def encode_fitting(self, name: str, value: Any, what: str) -> bytes:
        """A value that fits this type. Raises NotEncodable and PayloadTooLarge."""
        data = encode_result(name, value, what)
        self._check_kept(value, data, what, name)
        try:
            self.decode(data)
        except BadResult as error:
            advice = f"It does not fit the annotation {error.annotation}: {error.reason}"
            type_ = with_article(type(value).__qualname__)
            raise NotEncodable(what=what, name=name, path="it", type=type_, advice=advice) from error
        return data

    def decode(self, data: bytes) -> Any:
        """Convert a stored result to this type. Raises BadResult, and NotDecodable for text that is not JSON."""
        if not self._decoders:
            return decode_result(self._name, data)
        refuse_sealed("result", self._name, data)
        for one in self._decoders:
            try:
                return one.decode(data or b"null")
            except msgspec.ValidationError as error:
                problem = error
            except _BROKEN as error:
                raise NotDecodable(what="result", name=self._name, reason=str(error)) from error
        raise BadResult(
            name=self._name,
            annotation=inspect.formatannotation(self._annotation),
            reason=str(problem),
            value=decode_result(self._name, data),
        ) from problem

    def _check_kept(self, value: Any, data: bytes, what: str = "result", name: str = "") -> None:
        """Look at the first type that fits. A value that fits none is for `decode` to refuse."""
        for wanted, one in zip(self._wanted, self._decoders, strict=True):
            try:
                found = one.decode(data)
            except Exception:  # noqa: S112 - models of the application are made here; `decode` tells their errors
                continue
            if found != value and (part := lost("it", value, found, is_open=is_open(wanted))):
                how = inspect.formatannotation(self._annotation)
                advice = part.fault or "Annotate one type for it, such as dict[int, bytes]."
                advice = f"The annotation {how} does not bring it back. {advice}"
                raise NotEncodable(what=what, name=name or self._name, path=part.place, type=part.type, advice=advice)
            return


def _of_generator(annotation: Any) -> list[Any]:
    """The return type has precedence: if a generator returns a value, its yields are not stored."""
    arguments = typing.get_args(annotation)
    if typing.get_origin(annotation) not in _GENERATORS or not arguments:
        return []
    yielded: list[Any] = [GenericAlias(list, (arguments[0],))]
    returned = arguments[_RETURNED] if len(arguments) > _RETURNED else None
    return yielded if returned in (None, type(None)) else [returned, *yielded]


def _supported(wanted: Sequence[Any]) -> Sequence[Any]:
    """All of the types, or none: a value of an unrecognisable type must not be taken for another type."""
    return wanted if all(each is not Any and is_supported(each) for each in wanted) else ()


def encoder_of(method: Callable[..., Any], place: str = "") -> Callable[[str, Any, str], bytes]:
    """How the first argument of a method is stored, or its "return", if it comes back as plain JSON.

    Without an annotation nothing is refused.
    """
    place = place or next(iter(inspect.signature(method).parameters), "")
    return encode_result if hints(method).get(place, Any) is Any else encode_plain


def type_of(kind: str, name: str) -> ResultType:
    """The result type of one task; plain JSON if this process does not know the task."""
    handler = registry.find(kind, name)
    found = getattr(handler, "result_type", None)
    return found if isinstance(found, ResultType) else ResultType(name)
