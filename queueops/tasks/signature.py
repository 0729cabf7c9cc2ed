"""Argument signature: checks the arguments of a task function at the push, and converts them at the run.

The signature of each function is analysed once, at its first use. Annotations in strings may therefore name what is
imported late.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import msgspec

from queueops.errors import BadArguments, BadDependency, NotDecodable, advice
from queueops.model.encryption import refuse_sealed
from queueops.tasks.annotations import (
    Accepted,
    accepted,
    decoder,
    decoder_type,
    hints,
    is_described,
    is_open,
    positional_decoder,
)
from queueops.tasks.depends import Depends
from queueops.tasks.encoding import Arguments, decode_arguments, encode_arguments, plain
from queueops.tasks.lossy_values import PLAIN, lost

_PATH = re.compile(r" - at (?:`(?P<part>\w+)` in )?`\$\[0\]\[(?P<number>\d+)\](?P<rest>[^`]*)`$")
_BROKEN = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class ArgumentSpec:
    """How the arguments of one function are checked, encoded, decoded and converted."""

    __slots__ = (
        "_accepted",
        "_accepted_more",
        "_accepted_named",
        "_decode",
        "_decoders",
        "_described",
        "_least",
        "_more_name",
        "_most",
        "_names",
        "_open_named",
        "_required",
        "_try_named",
        "_unnamed",
        "dependencies",
        "name",
        "rest_name",
        "signature",
    )

    def __init__(self, func: Callable[..., Any], name: str) -> None:
        self.name = name
        self.signature, self.dependencies = _split(func, name)
        parameters = list(self.signature.parameters.values())
        types = {parameter.name: decoder_type(parameter) for parameter in parameters}
        self._described = {p.name: (p.annotation, is_open(types[p.name])) for p in parameters if is_described(p)}
        of_kind = _by_kind(parameters)
        positional, named = of_kind["positional"], of_kind["named"]
        more, rest = of_kind["more"], of_kind["rest"]
        self._names = tuple(parameter.name for parameter in positional)
        self._unnamed = {p.name for p in positional if p.kind is p.POSITIONAL_ONLY}
        self._required = {p.name for p in (*positional, *named) if p.default is p.empty}
        self._least = max((i + 1 for i, p in enumerate(positional) if p.default is p.empty), default=0)
        if any(p.default is p.empty for p in named):
            self._least = 1 << 30  # never on the fast path: an argument must be named
        self._most = (1 << 30) if more else len(positional)
        self._accepted = tuple(self._types(types, p.name) for p in positional)
        self._accepted_more = self._types(types, more[0].name) if more else None
        self._accepted_named = {p.name: self._types(types, p.name) for p in (*positional, *named)}
        self._decoders = {p.name: decoder(types[p.name]) for p in (*positional, *named)}
        self._more_name = more[0].name if more else ""
        self.rest_name = rest[0].name if rest else ""
        self._open_named = decoder(types[rest[0].name]) if rest else None
        self._try_named = self.rest_name in self._described
        self._decode = positional_decoder([types[p.name] for p in positional], types[more[0].name] if more else None)

    def encode(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
        """The checked arguments of one push. Raises BadArguments, NotEncodable, PayloadTooLarge."""
        if kwargs or not self._least <= len(args) <= self._most:
            self._check_names(args, kwargs)
        data = encode_arguments(self.name, args, kwargs, self._names)
        if data and not self._plainly_right(args, kwargs):
            found, found_named = self.decode(data)
            if found != list(args) or found_named != kwargs:
                self._check_kept(args, kwargs, found, found_named)
        return data

    def encode_after(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
        """The same, for a task whose first argument is the unknown result of another task."""
        try:
            self._check_names((None, *args), kwargs)
        except BadArguments as error:
            hint = "The previous task's result is the first argument. Use .si() to leave it out."
            raise BadArguments(name=self.name, reason=f"{error.reason} {hint}") from None
        data = encode_arguments(self.name, args, kwargs, self._names[1:])
        for name, value in (*zip(self._names[1:], args, strict=False), *kwargs.items()):
            found = self._named(name, msgspec.Raw(msgspec.json.encode(value, enc_hook=plain)))
            self._check_kept((), {name: value}, (), {name: found})
        return data

    def decode(self, data: bytes) -> Arguments:
        """The arguments of one run, converted by the annotations. Raises BadArguments and NotDecodable."""
        if not data:
            args: list[Any] = []
            kwargs: dict[str, Any] = {}
        else:
            refuse_sealed("arguments", self.name, data)
            try:
                args, raw = self._decode(data)
            except _BROKEN as error:
                self._refuse(data, error)
            kwargs = {name: self._named(name, value) for name, value in raw.items()} if raw else {}
        if kwargs or not self._least <= len(args) <= self._most:
            self._check_names(args, kwargs)
        return args, kwargs

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> inspect.BoundArguments:
        """The arguments by parameter name, with the defaults of the others."""
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise BadArguments(name=self.name, reason=f"{error}.") from None
        bound.apply_defaults()
        return bound

    def _plainly_right(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Whether the types alone prove that the arguments can be converted back; False means to try it."""
        for value, types in zip(args, self._accepted, strict=False):
            if types is not None and type(value) not in types:
                return False
        if self._accepted_more is not None and len(args) > len(self._accepted):
            return False
        for name, value in kwargs.items():
            types = self._accepted_named.get(name)
            if types is not None and type(value) not in types:
                return False
        return not (kwargs and self._try_named)

    def _types(self, types: Mapping[str, Any], name: str) -> Accepted:
        """The types of one parameter that need no trial: without a usable annotation, those of plain JSON."""
        return PLAIN if types[name] is Any and name in self._described else accepted(types[name])

    def _check_kept(self, args: Sequence[Any], kwargs: Mapping[str, Any], found: Any, found_named: Any) -> None:
        """Refuse a value that would silently reach the task as another value, although an annotation covers it."""
        names = [*self._names, *(f"argument {number + 1}" for number in range(len(self._names), len(args)))]
        for name, given, back in zip(names, args, found, strict=False):
            self._check_one(name, given, back, self._more_name)
        for name, given in kwargs.items():
            self._check_one(name, given, found_named[name], self.rest_name)

    def _check_one(self, name: str, given: Any, found: Any, rest: str) -> None:
        parameter = name if name in self._decoders else rest
        if parameter not in self._described:
            return
        annotation, is_open = self._described[parameter]
        if isinstance(given, (set, frozenset)) and isinstance(found, list):
            given = list(given)  # the annotation asks for this form, as Iterable[int] does
        if part := lost(name, given, found, is_open=is_open):
            how = inspect.formatannotation(annotation)
            reason = part.fault or "Pass a plain JSON value, or annotate one type for it, such as dict[str, bytes]."
            reason = f"{part.place}: {part.type} cannot be restored by the annotation {how}. {reason}"
            raise BadArguments(name=self.name, reason=reason)

    def _check_names(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        if len(args) > self._most:
            most = f"at most {self._most}" if self._most else "no"
            words = f"{most} positional argument{'s' if self._most != 1 else ''}"
            given = f"{len(args)} {'was' if len(args) == 1 else 'were'} given."
            raise BadArguments(name=self.name, reason=f"it takes {words}, but {given}")
        filled = self._names[: len(args)]
        for name in kwargs:
            if name in filled and not (name in self._unnamed and self._open_named):
                raise BadArguments(name=self.name, reason=f"{name!r} is given twice.")
            if self._open_named is None and (name not in self._decoders or name in self._unnamed):
                known = advice(name, set(self._decoders) - self._unnamed)
                raise BadArguments(name=self.name, reason=f"there is no parameter {name!r}{known}")
        if missing := self._required.difference(filled).difference(kwargs):
            names = ", ".join(repr(name) for name in self.signature.parameters if name in missing)
            raise BadArguments(name=self.name, reason=f"{names} must be given.")

    def _refuse(self, data: bytes, error: Exception) -> NoReturn:
        args, _ = decode_arguments(self.name, data)  # raises NotDecodable for data that is not a call
        if len(args) > self._most:
            self._check_names(args, {})
        raise BadArguments(name=self.name, reason=self._reason(error)) from error

    def _named(self, name: str, value: msgspec.Raw) -> Any:
        decoder = self._decoders.get(name, self._open_named)
        if decoder is None:
            self._check_names((), {name: value})
            raise NotDecodable(what="arguments", name=self.name, reason=f"{name!r} is unknown")
        try:
            return decoder.decode(value)
        except _BROKEN as error:
            text = str(error).replace("`$", f"`{name}")
            where = "" if f"`{name}" in text else f"{name}: "
            raise BadArguments(name=self.name, reason=f"{where}{text}.") from error

    def _reason(self, error: Exception) -> str:
        """The message of msgspec, with the parameter's name in place of its number."""
        text = str(error)
        match = _PATH.search(text)
        if match is None:
            return f"{text}."
        number = int(match["number"])
        name = self._names[number] if number < len(self._names) else f"argument {number + 1}"
        part = f" (a {match['part']})" if match["part"] else ""
        return f"{name}{match['rest']}{part}: {text[: match.start()]}."


def _split(func: Callable[..., Any], name: str) -> tuple[inspect.Signature, dict[str, Depends]]:
    """The signature without the dependencies, and the dependencies."""
    found = hints(func)
    kept: list[inspect.Parameter] = []
    dependencies: dict[str, Depends] = {}
    for parameter in inspect.signature(func).parameters.values():
        annotation = found.get(parameter.name, Any)
        depends = _dependency(parameter, annotation)
        if depends is None:
            if dependencies and parameter.kind is parameter.VAR_POSITIONAL:
                raise BadDependency(dependency=repr(dependencies), name=name, reason="it stands before *args.")
            kind = (
                parameter.KEYWORD_ONLY if dependencies and parameter.kind is parameter.POSITIONAL_OR_KEYWORD else None
            )
            kept.append(parameter.replace(annotation=annotation, kind=kind or parameter.kind))
        elif parameter.kind is parameter.POSITIONAL_ONLY:
            raise BadDependency(dependency=repr(depends), name=name, reason="its parameter is positional-only.")
        else:
            dependencies[parameter.name] = depends
    return inspect.Signature(sorted(kept, key=lambda parameter: parameter.kind)), dependencies


def _dependency(parameter: inspect.Parameter, annotation: Any) -> Depends | None:
    """`= Depends(func)`, or `Annotated[Type, Depends(func)]`."""
    if isinstance(parameter.default, Depends):
        return parameter.default
    marks = [mark for mark in getattr(annotation, "__metadata__", ()) if isinstance(mark, Depends)]
    return marks[-1] if marks else None


def _by_kind(parameters: Sequence[inspect.Parameter]) -> dict[str, list[inspect.Parameter]]:
    kinds: dict[str, list[inspect.Parameter]] = {"positional": [], "named": [], "more": [], "rest": []}
    words: dict[Any, str] = {
        inspect.Parameter.KEYWORD_ONLY: "named",
        inspect.Parameter.VAR_POSITIONAL: "more",
        inspect.Parameter.VAR_KEYWORD: "rest",
    }
    for parameter in parameters:
        kinds[words.get(parameter.kind, "positional")].append(parameter)
    return kinds
