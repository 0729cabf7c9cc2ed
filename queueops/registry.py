"""Which handler runs the tasks of a kind and a name.

A kind is a module of `queueops.kinds`: it registers its handlers when it is imported, or a resolver that finds them by
name. Kinds that nobody has imported are loaded when the first task of theirs is met.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType

from queueops.contracts import Handler
from queueops.errors import DuplicateName, UnknownTask, advice

Resolver = Callable[[str], Handler | None]

_handlers: dict[tuple[str, str], Handler] = {}
_places: dict[tuple[str, str], str] = {}
_resolvers: dict[str, Resolver] = {}


def register(handler: Handler, place: str = "") -> None:
    """Make a handler known under its kind and name.

    `place` says where it is defined; the same place may register again (a reloaded module). Raises DuplicateName.
    """
    key = (handler.kind, handler.name)
    if key in _handlers and _places[key] != place:
        raise DuplicateName(name=handler.name, first=_places[key] or "one", second=place or "another")
    _handlers[key] = handler
    _places[key] = place


def register_resolver(kind: str, resolver: Resolver) -> None:
    """Make a function known that finds the handlers of a kind by name; it answers None for unknown ones."""
    _resolvers[kind] = resolver


def unregister(kind: str, name: str) -> None:
    """Forget a handler; for tests."""
    _handlers.pop((kind, name), None)
    _places.pop((kind, name), None)


def find(kind: str, name: str) -> Handler | None:
    """The handler of a task, or None when this process does not know it."""
    handler = _handlers.get((kind, name))
    if handler is not None:
        return handler
    resolver = _resolvers.get(kind) or _load(kind)
    if resolver is not None:
        return resolver(name)
    return _handlers.get((kind, name))


def get(kind: str, name: str) -> Handler:
    """The handler of a task. Raises UnknownTask."""
    handler = find(kind, name)
    if handler is None:
        raise UnknownTask(name=name, advice=advice(name, (known for of, known in _handlers if of == kind)))
    return handler


def handlers() -> Mapping[tuple[str, str], Handler]:
    """Every registered handler, by kind and name."""
    return MappingProxyType(_handlers)


def _load(kind: str) -> Resolver | None:
    module = f"queueops.kinds.{kind}"
    if kind.isidentifier() and find_spec(module) is not None:
        import_module(module)
    return _resolvers.get(kind)
