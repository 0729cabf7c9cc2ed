"""Where the answers come from: the reader of this process's broker, and the redactor of its settings."""

from __future__ import annotations

from functools import lru_cache
from inspect import Parameter

from queueops import conf, registry
from queueops.contracts import Handler
from queueops.inspect.redact import Redactor
from queueops.redis.broker import RedisBroker, get_broker
from queueops.redis.reader import Reader

POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
LATE_MS = 15_000
"""A worker beats every 5 s; after three beats that did not come it is late."""


def open_broker() -> RedisBroker:
    """The broker of the current settings."""
    return get_broker()


def open_reader() -> Reader:
    """The reading side of the store of the current settings."""
    return Reader(get_broker())


def now_ms() -> int:
    """The store's time in ms: by it stands when a task entered its state."""
    return open_reader().now_ms()


def redactor() -> Redactor:
    """What hides values, by the setting REDACT."""
    return _redactor(tuple(conf.current().redact))


@lru_cache(maxsize=8)
def _redactor(patterns: tuple[str, ...]) -> Redactor:
    return Redactor(patterns)


def pools_of(reader: Reader, pool: str) -> list[str]:
    """The pools that a question is about: the named one if it exists, or all."""
    known = reader.pools()
    return known if not pool else [pool] if pool in known else []


def parameters(kind: str, name: str) -> tuple[str, ...]:
    """The names of a task's positional parameters, where this process knows the task: they tell what to hide."""
    handler = registry.handlers().get((kind, name))
    return () if handler is None else _parameters(handler)


def _parameters(handler: Handler) -> tuple[str, ...]:
    plan = getattr(handler, "plan", None)
    found = plan.signature.parameters.values() if plan is not None else ()
    return tuple(parameter.name for parameter in found if parameter.kind in POSITIONAL)
