"""Push hooks: `on_push` of the middlewares before a push, and the signal `task_pushed` after it.

A process without such a middleware and without a receiver pays for one look at each.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, NoReturn

from django.core.exceptions import MiddlewareNotUsed
from django.core.signals import setting_changed
from django.utils.module_loading import import_string
from msgspec import structs

from queueops import conf
from queueops.errors import OutsideTask
from queueops.model.contracts import Push
from queueops.results.handle import TaskHandle
from queueops.schedules.definition import ScheduleDefinition
from queueops.tasks.metadata import decode_meta, encode_meta, merged
from queueops.tasks.producer_signals import task_of, task_pushed, tell

CREATED = frozenset({"OK", "REPEAT", "REPLACED", "AFTER"})
"""The answers to a push that left a task to workers; after the others a task of its id was there already."""

logger = logging.getLogger("queueops.signals")
_held: ContextVar[list[Callable[[], object]] | None] = ContextVar("queueops_held_signals", default=None)


@dataclass(slots=True)
class PushInfo:
    """What `on_push` gets. Only `meta` may be changed: the task and its descendants have it as `current().meta`.

    ``task``: the task object, or the kind if this process has none.
    """

    task: Any
    name: str
    kind: str
    id: str
    pool: str
    meta: dict[str, Any] = field(default_factory=dict)


def before(push: Push, parts: Iterable[Push] = ()) -> Push:
    """Let the middlewares add to the metadata of a push. ``parts``: the pushes of its tree, which inherit it."""
    if hooks := _hooks():
        was = push.meta
        for hook in hooks:
            _ask(hook, push)
        if push.meta != was:
            for part in parts:
                part.meta = merged(push.meta, part.meta)
    return push


def of_schedule(definition: ScheduleDefinition) -> ScheduleDefinition:
    """A schedule whose next runs have what the middlewares add; the stored one stays as it is."""
    if not _hooks():
        return definition
    return structs.replace(definition, push=before(structs.replace(definition.push)))


def after(handle: TaskHandle[Any], push: Push) -> None:
    """Send `task_pushed`, if this push left a task to workers. Django logs a receiver that raises."""
    if task_pushed.receivers and handle.word in CREATED:
        send = partial(tell, task_pushed, push.kind, push.name, handle, push.meta)
        held = _held.get()
        send() if held is None else held.append(send)


@contextmanager
def held() -> Iterator[None]:
    """Send the signals of this block at its end, however it ends: a receiver may use the database."""
    signals: list[Callable[[], object]] = []
    token = _held.set(signals)
    try:
        yield
    finally:
        _held.reset(token)
        for send in signals:
            send()


def _ask(hook: Callable[[PushInfo], object], push: Push) -> None:
    """Call a hook. If it raises, or adds what is no metadata, the push goes on without what it added."""
    info = PushInfo(task_of(push.kind, push.name), push.name, push.kind, push.id, push.pool, decode_meta(push.meta))
    try:
        hook(info)
        if info.meta != decode_meta(push.meta):
            push.meta = encode_meta(info.meta)
    except Exception:  # the project's code: it must not lose a push
        logger.exception("on_push failed: %s %s is pushed without what it adds", push.name, push.id)


@cache
def _hooks() -> tuple[Callable[[PushInfo], object], ...]:
    """`on_push` of the middlewares of the settings, outermost first. Each middleware is made once for this."""
    return tuple(filter(None, map(_hook_of, map(import_string, conf.current().middleware))))


def _hook_of(factory: Any) -> Callable[[PushInfo], object] | None:
    if not hasattr(factory, "on_push"):
        return None
    try:
        hook: Callable[[PushInfo], object] = factory(_no_result).on_push
    except MiddlewareNotUsed:
        return None
    return hook


def _no_result(run: Any) -> NoReturn:
    raise OutsideTask(what="get_result")


def _forget(*, setting: str, **_: Any) -> None:
    if setting == "QUEUEOPS":
        _hooks.cache_clear()


setting_changed.connect(_forget, dispatch_uid="queueops.tasks.push_hooks")
