"""Reader of the store: the read side of this process's broker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import Parameter

from queueops.errors.kinds import NotOffered
from queueops.model.ports import Handler
from queueops.redis.broker import get_broker
from queueops.redis.query_replies import LATE_MS as LATE_MS
from queueops.redis.reader import PoolList, Reader
from queueops.tasks import registry

POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
NOT_TAKING = ("quiet", "stopping", "silent", "hung")
"""The state of a process that takes no work, as it reports itself or its supervisor reports it."""
UNRESPONSIVE = ("silent", "hung")
"""The states of a process without a sign of life, as its supervisor reports them."""


_pool_list: ContextVar[PoolList | None] = ContextVar("queueops_pool_list", default=None)


@contextmanager
def one_pool_list() -> Iterator[None]:
    """Read the list of pools once for all questions of this block: a page asks several."""
    token = _pool_list.set(PoolList())
    try:
        yield
    finally:
        _pool_list.reset(token)


def open_reader() -> Reader:
    """The reader of the current settings' store."""
    return Reader(get_broker(), _pool_list.get())


def now_ms() -> int:
    """The store's time in ms, which also marks when a task entered its state."""
    return open_reader().now_ms()


def reach_store() -> None:
    """Make a call that each store answers, also one that offers no questions. Raises BrokerUnavailable."""
    try:
        now_ms()
    except NotOffered:
        get_broker().pools()


def pools_of(reader: Reader, pool: str) -> list[str]:
    """The pools of a question: the named one if it exists, or all."""
    if pool:
        return [pool] if reader.knows(pool) else []
    return reader.pools()


def parameters(kind: str, name: str) -> tuple[str, ...]:
    """The names of a task's positional parameters, if this process knows the task: the redactor needs them."""
    handler = registry.handlers().get((kind, name))
    return () if handler is None else _parameters(handler)


def _parameters(handler: Handler) -> tuple[str, ...]:
    plan = getattr(handler, "plan", None)
    found = plan.signature.parameters.values() if plan is not None else ()
    return tuple(parameter.name for parameter in found if parameter.kind in POSITIONAL)
