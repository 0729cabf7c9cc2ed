"""Handler registry: which handler runs the tasks of a kind and a name.

A kind is a module of `queueops.kinds`. When it is imported, it registers its handlers, or a resolver that finds them by
name. A kind that is not imported yet is imported when the worker meets its first task.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType

from queueops.errors import DuplicateName, UnknownTask, advice
from queueops.model import kinds
from queueops.model.contracts import Row
from queueops.model.ports import Handler
from queueops.model.states import State

Resolver = Callable[[str], Handler | None]
CancelListener = Callable[[str, Sequence[str]], None]

_handlers: dict[tuple[str, str], Handler] = {}
_places: dict[tuple[str, str], str] = {}
_resolvers: dict[str, Resolver] = {}
_cancel_listeners: dict[CancelListener, Callable[[], Collection[str]]] = {}


def register(handler: Handler, place: str = "") -> None:
    """Register a handler under its kind and name.

    `place` is where it is defined; the same place may register again (a reloaded module). Raises DuplicateName.
    """
    key = (handler.kind, handler.name)
    if key in _handlers and _places[key] != place:
        raise DuplicateName(name=handler.name, first=_places[key] or "one", second=place or "another")
    _handlers[key] = handler
    _places[key] = place


def register_resolver(kind: str, resolver: Resolver) -> None:
    """Register a function that finds the handlers of a kind by name; it returns None for unknown names."""
    _resolvers[kind] = resolver


def register_cancel_listener(kinds_heard: Callable[[], Collection[str]], listener: CancelListener) -> None:
    """Register a listener for tasks of these kinds that this process cancelled before a worker ran them.

    It is called with the pool and the ids, also of tasks of other kinds. It hears nothing while it wants no kind.
    """
    _cancel_listeners[listener] = kinds_heard


def kinds_told() -> tuple[str, ...]:
    """The kinds whose listeners want to know which tasks an operator's action has ended."""
    return tuple(dict.fromkeys(kind for heard in _cancel_listeners.values() for kind in heard()))


def tell_cancelled(pool: str, verb: str, rows: Sequence[Row]) -> None:
    """Tell the listeners which tasks an operator's action has ended, by the action's ``rows``."""
    if not _cancel_listeners or verb not in ("cancel", "release"):
        return
    done = [row for row in rows if row.word == "OK" or (row.word == "REPEAT" and not row.detail)]
    if ids := [row.id for row in done if row.state == State.CANCELLED]:
        for listener, heard in _cancel_listeners.items():
            if heard():
                listener(pool, ids)


def unregister_resolver(kind: str) -> None:
    """Remove a resolver; for tests."""
    _resolvers.pop(kind, None)


def unregister(kind: str, name: str) -> None:
    """Remove a handler; for tests."""
    _handlers.pop((kind, name), None)
    _places.pop((kind, name), None)


def find(kind: str, name: str, phase: str = "") -> Handler | None:
    """The handler of a task in this phase, or None if this process does not know it."""
    handler = _handlers.get((kind, name)) or _resolved(kind, name)
    in_phase: Callable[[str], Handler] | None = getattr(handler, "in_phase", None) if phase else None
    return in_phase(phase) if in_phase is not None else handler


def _resolved(kind: str, name: str) -> Handler | None:
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
    if kinds.of_record(kind, "work.handlers") is not None:  # imported by this question
        return _resolvers.get(kind)
    module = f"queueops.kinds.{kind}"
    if kind.isidentifier() and find_spec(module) is not None:
        import_module(module)
    return _resolvers.get(kind)
