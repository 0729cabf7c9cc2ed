"""Unique ids: `unique=` derives a call's id from its arguments, so that two calls with one id are one task.

A text that is not a valid id becomes one that ends with a digest of the text.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from string import Formatter
from typing import Any

from queueops.errors import BadArguments, BadOption
from queueops.model.ids import ID, ID_LENGTH, check_id
from queueops.tasks.depends import Depends
from queueops.tasks.signature import ArgumentSpec

Unique = str | Callable[..., str | None]
_EXAMPLE = '"mail:{user_id}"'
_UNFIT = re.compile(r"[^A-Za-z0-9._:@/=+\-]")
_DIGITS = 32
_HASHED = re.compile(rf".*==[0-9a-f]{{{_DIGITS}}}", re.DOTALL)


class UniqueId:
    """Makes the id of a call by a template, or by a function of the arguments that it names."""

    __slots__ = ("_defaults", "_fits", "_names", "_takes_all", "_unique")
    option = "unique"
    advice = "use .si(), or using(id=)"

    def __init__(self, unique: Any, function: Callable[..., Any] | None = None) -> None:
        if not isinstance(unique, str) and not callable(unique):
            expected = f"a function of the arguments, or a template such as {_EXAMPLE}"
            raise BadOption(name=self.option, value=unique, expected=expected)
        if isinstance(unique, str) and function is not None:
            _check(self.option, unique, function)
        self._unique: Unique = unique
        taken = [] if isinstance(unique, str) else _parameters(unique)
        self._takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken)
        self._names = [p.name for p in taken if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        self._defaults = {p.name for p in taken if p.default is not p.empty}
        self._fits = not any(p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL) for p in taken)

    def text(self) -> str:
        """The template, or the name of the function."""
        return (
            self._unique if isinstance(self._unique, str) else getattr(self._unique, "__qualname__", repr(self._unique))
        )

    def of(self, plan: ArgumentSpec, args: Sequence[Any], kwargs: Mapping[str, Any], *, after: bool) -> str | None:
        """The id of a call; None if the function returns None. `after`: its first argument is not known yet.

        Raises BadOption, BadArguments, and BadId for what is not a text.
        """
        found = self.found(plan, args, kwargs, after=after)
        return None if found is None else fit(found)

    def found(self, plan: ArgumentSpec, args: Sequence[Any], kwargs: Mapping[str, Any], *, after: bool) -> Any:
        """What the template or the function makes of the arguments."""
        given = plan.bind((None, *args) if after else args, kwargs).arguments
        if plan.rest_name in given:
            given |= given[plan.rest_name]
        names = [name for name in self._names if name in given or name not in self._defaults] or self._names
        if after:
            given.pop(next(iter(given)))
        if after and not self._needs_only(given, names):
            reason = f"its {self.option}= needs the first argument, which is not known yet; {self.advice}."
            raise BadArguments(name=plan.name, reason=reason)
        if isinstance(self._unique, str):
            return _filled(self.option, self._unique, given)
        if not self._fits or not given.keys() >= set(names):
            return self._unique(*args, **kwargs)  # other parameter names: call it as the task is called
        return self._unique(**(given if self._takes_all else {name: given[name] for name in names}))

    def _needs_only(self, given: Mapping[str, Any], names: Iterable[str]) -> bool:
        """Whether the template, or the function of these names, can do with these arguments.

        A function of `**` alone may look at any.
        """
        if not isinstance(self._unique, str) and self._takes_all and not self._names:
            return False
        names = _fields(self._unique) if isinstance(self._unique, str) else names
        return self._fits and given.keys() >= set(names)


def fit(text: Any) -> str:
    """A valid id for this text: the text itself, or what it has of an id and a digest. Raises BadId for no text.

    A valid text that ends like a digest gets one, too, so that it cannot be made to meet another text's id.
    """
    if not isinstance(text, str):
        return check_id(text)
    if ID.fullmatch(text) and not _HASHED.fullmatch(text):
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{_UNFIT.sub('-', text)[: ID_LENGTH - _DIGITS - 2]}=={digest}"


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except ValueError:  # a type such as str tells none
        return [inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)]


def _check(option: str, template: str, function: Callable[..., Any]) -> None:
    """Refuse a template that no call could fill in, at the definition and not at the first push."""
    names = [name for name, value in inspect.signature(function).parameters.items() if not _is_given(value)]
    try:
        fields = _fields(template)
    except ValueError as error:
        raise BadOption(name=option, value=template, expected=f"a template such as {_EXAMPLE}; {error}") from error
    for name, field in fields.items():
        if name not in names:
            expected = f"a template of {', '.join(names) or 'no arguments'}; {{{field}}} is none of them"
            raise BadOption(name=option, value=template, expected=expected)


def _fields(template: str) -> dict[str, str]:
    """The fields of a template, by the argument that each needs."""
    fields = [field for _, field, _, _ in Formatter().parse(template) if field is not None]
    return {re.split(r"[.\[]", field, maxsplit=1)[0]: field for field in fields}


def _is_given(parameter: inspect.Parameter) -> bool:
    """Whether the parameter is a dependency, which no caller passes."""
    return isinstance(parameter.default, Depends)


def _filled(option: str, template: str, arguments: Mapping[str, Any]) -> str:
    try:
        return template.format(**arguments)
    except (LookupError, AttributeError, ValueError) as error:
        expected = f"a template of {', '.join(arguments)}; {error} cannot be filled in"
        raise BadOption(name=option, value=template, expected=expected) from error
