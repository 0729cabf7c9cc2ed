"""Task hooks: a task's own middlewares, the encoder of its result, and the function for its yields."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction
from typing import Any

from queueops.errors import BadOption

Middleware = str | Callable[..., Any]
_MIDDLEWARES = "a list of dotted paths or of classes, each as in QUEUEOPS['MIDDLEWARE']"


def middlewares_of(value: Any) -> tuple[Middleware, ...]:
    """Middlewares, outermost first: dotted paths, or classes and functions that take `get_result`. Raises BadOption."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise BadOption(name="middleware", value=value, expected=_MIDDLEWARES)
    found = tuple(value)
    if not all(callable(one) or (isinstance(one, str) and "." in one) for one in found):
        raise BadOption(name="middleware", value=value, expected=_MIDDLEWARES)
    return found


def encoder_of(value: Any) -> Callable[[Any], Any] | None:
    """The function that encodes a task's return value for the store. Raises BadOption."""
    if value is not None and (not callable(value) or iscoroutinefunction(value)):
        raise BadOption(name="encoder", value=value, expected="a plain function of the result")
    encoder: Callable[[Any], Any] | None = value
    return encoder


def on_yield_of(value: Any, function: Callable[..., Any]) -> Callable[[Any], Any] | None:
    """The function that is applied to each yield of a generator. Raises BadOption."""
    if value is None:
        return None
    if not callable(value):
        raise BadOption(name="on_yield", value=value, expected="a function of what is yielded")
    if not isasyncgenfunction(function) and not isgeneratorfunction(function):
        raise BadOption(name="on_yield", value=value, expected="left out: the function yields nothing")
    if iscoroutinefunction(value) and not isasyncgenfunction(function):
        expected = "a plain function: only an async generator can wait for an async one"
        raise BadOption(name="on_yield", value=value, expected=expected)
    on_yield: Callable[[Any], Any] = value
    return on_yield
