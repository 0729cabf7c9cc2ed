"""Task registry: what this process knows of each task, and which workers know it."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from dataclasses import fields
from datetime import timedelta
from typing import Any, ClassVar

from queueops.errors import QueueOpsError
from queueops.inspect.answers import Answer, Listing, broken_pools
from queueops.inspect.redaction import redactor
from queueops.inspect.store import LATE_MS, open_reader
from queueops.inspect.workers import MOST, MOST_NAMES, names_of
from queueops.model import kinds, rates
from queueops.model.ids import ID
from queueops.model.redact import MASK
from queueops.redis.reader import Reader
from queueops.tasks import registry as handlers
from queueops.tasks.annotations import hints
from queueops.tasks.by_name import all_tasks
from queueops.tasks.options import UNSET, Options
from queueops.tasks.task import Task

_USUAL = Options()
_OF_ONE_PUSH = ("pool", "id", "root", "under")
_SHOWN_AS = {"postpone_delay": "delay"}
_SECONDS = ("timeout", "keep", "delay", "keep_tasks", "unique_for", "throttle", "debounce")


class KnownTask(Answer, frozen=True, kw_only=True):
    """One task; `is_here` when this process has its code.

    `workers` are the live workers that report its name. `unsure` counts the live workers that may know it, because they
    report no names or too many.
    """

    TEXTS: ClassVar = ("doc", "schedule")

    name: str
    kind: str = ""
    module: str = ""
    signature: str = ""
    doc: str = ""
    options: dict[str, str] = {}
    schedule: str = ""
    is_here: bool = True
    workers: tuple[str, ...] = ()
    unsure: int = 0

    @property
    def most(self) -> int:
        """The most live workers that may know it."""
        return len(self.workers) + self.unsure

    @property
    def about(self) -> str:
        """The first line of the docstring."""
        return self.doc.partition("\n")[0]


def names_here() -> set[str]:
    """The names of the tasks that this process knows."""
    return {task.name for task in all_tasks()}


def registry() -> Listing[KnownTask]:
    """Every task that this process or a live worker knows, by name."""
    reader = open_reader()
    knowing, unsure = _knowing(reader, reader.pools())
    here = {task.name: task for task in all_tasks()}
    rows = (
        _row(name, here.get(name), workers=tuple(knowing.get(name, ())), unsure=unsure)
        for name in sorted(here.keys() | knowing.keys())
    )
    return Listing(rows, broken_pools(reader.broken, reader.silent))


def known_task(reader: Reader, pools: Iterable[str], name: str) -> KnownTask | None:
    """One task; None if neither this process nor a live worker knows it."""
    knowing, unsure = _knowing(reader, pools)
    here = next((task for task in all_tasks() if task.name == name), None)
    if here is None and name not in knowing:
        return None
    return _row(name, here, workers=tuple(knowing.get(name, ())), unsure=unsure)


def is_own_name(name: str) -> bool:
    """Whether QueueOps itself has the code of this name: a kind brings it, and not the project."""
    found = (handlers.find(record, name) for record in kinds.records())
    return any(_module(handler).startswith("queueops.kinds.") for handler in found if handler is not None)


def _module(handler: Any) -> str:
    """The module of the code that a handler runs; without a function, it is the handler's own."""
    return str(getattr(getattr(handler, "func", None) or type(handler), "__module__", ""))


def _knowing(reader: Reader, pools: Iterable[str]) -> tuple[dict[str, list[str]], int]:
    """The live workers that report each name, and the number of those whose report may be cut."""
    now, beats = reader.workers(pools, MOST)
    told = {beat.id: names_of(beat) for _, beat in beats if now - beat.beat_ms <= LATE_MS}
    knowing: dict[str, list[str]] = {}
    for worker, names in sorted(told.items()):
        for name in filter(ID.fullmatch, names):
            knowing.setdefault(name, []).append(worker)
    return knowing, sum(not names or len(names) >= MOST_NAMES for names in told.values())


def _row(name: str, task: Task[..., Any, Any] | None, *, workers: tuple[str, ...], unsure: int) -> KnownTask:
    if task is None:
        return KnownTask(name=name, is_here=False, workers=workers, unsure=unsure)
    handler: Any = task.handler
    defined = getattr(handler, "cls", handler.func)
    return KnownTask(
        name=name,
        kind=handler.kind,
        module=str(getattr(defined, "__module__", "")),
        signature=_signature(handler),
        doc=inspect.cleandoc(_own_doc(defined)),
        options=dict(_options(task)),
        workers=workers,
        unsure=unsure,
        schedule="" if task.schedule is None else str(task.schedule.line),
    )


def _own_doc(defined: Any) -> str:
    """The docstring of the class itself, not that of its base class."""
    doc = vars(defined).get("__doc__") if isinstance(defined, type) else getattr(defined, "__doc__", None)
    return doc or ""


def _signature(handler: Any) -> str:
    """The parameters of a push: dependencies are not arguments."""
    try:
        signature: inspect.Signature = handler.plan.signature
        taken = [_without_secrets(parameter) for parameter in signature.parameters.values()]
        returned = hints(handler.func).get("return", signature.empty) if handler.kind == "task" else signature.empty
        given = None if returned is type(None) else returned
        return str(signature.replace(parameters=taken, return_annotation=given))
    except QueueOpsError as error:  # for example an invalid dependency, which a push reports too
        return f"{inspect.signature(handler.func)}: {error}"


class _Text:
    """A default value as shown."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _without_secrets(parameter: inspect.Parameter) -> inspect.Parameter:
    if parameter.default is parameter.empty:
        return parameter
    hide = redactor()
    text = MASK if hide.hides(parameter.name) else hide.text(repr(parameter.default))
    return parameter.replace(default=_Text(text))


def _options(task: Task[..., Any, Any]) -> Iterator[tuple[str, str]]:
    """The pool, and the options that differ from the defaults."""
    options, handler = task.options, task.handler
    yield "pool", options.pool
    for field in fields(options):
        value = getattr(options, field.name)
        if field.name in _OF_ONE_PUSH or value is UNSET or value == getattr(_USUAL, field.name):
            continue
        yield _SHOWN_AS.get(field.name, field.name), _shown(field.name, value)
    if task.unique is not None:
        yield "unique", task.unique.text()
    if task.limit_key is not None:
        yield "limit_key", task.limit_key.text()
    if handler.retry_on != (Exception,):
        yield "retry_on", _named(handler.retry_on)
    if handler.middleware:
        yield "middleware", _named(handler.middleware)
    for name in ("encoder", "on_yield"):
        if (function := getattr(handler, name)) is not None:
            yield name, _named([function])
    yield from _class_options(getattr(handler, "cls", None))


def _class_options(cls: Any) -> Iterator[tuple[str, str]]:
    if cls is None:
        return
    base = next(each for each in cls.__mro__ if each.__module__.startswith("queueops."))
    for name in cls._options_of_kind:
        value = getattr(cls, name, None)
        if hasattr(base, name) and value != getattr(base, name):
            yield name, _shown(name, value)


def _shown(name: str, value: Any) -> str:
    if name == "meta":
        return redactor().document(value)
    if name == "tags":
        return ", ".join(value)
    if name == "rate":
        return rates.shown(value)
    if name == "postpone_delay":
        return f"{value.delay_ms / 1000:g} s"
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if name.endswith(_SECONDS) and isinstance(seconds, (int, float)):
        return f"{seconds:g} s"
    return redactor().text(str(value))


def _named(values: Any) -> str:
    return ", ".join(
        value if isinstance(value, str) else getattr(value, "__qualname__", repr(value)) for value in values
    )
