"""Background work for Django on Redis or Valkey, and the console to see it, understand it and act on it.

What is named here is the public interface. Each name is imported when it is first used, so that `import queueops` costs
nothing and works before Django is set up.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from queueops.context import current as current
    from queueops.errors import BadArguments as BadArguments
    from queueops.errors import BadId as BadId
    from queueops.errors import BrokerUnavailable as BrokerUnavailable
    from queueops.errors import IdInUse as IdInUse
    from queueops.errors import NotDurable as NotDurable
    from queueops.errors import NotEncodable as NotEncodable
    from queueops.errors import PayloadTooLarge as PayloadTooLarge
    from queueops.errors import QueueOpsError as QueueOpsError
    from queueops.errors import ResultTimeout as ResultTimeout
    from queueops.errors import SoftTimeout as SoftTimeout
    from queueops.errors import StoreFull as StoreFull
    from queueops.errors import TaskCancelled as TaskCancelled
    from queueops.errors import TaskFailed as TaskFailed
    from queueops.errors import TaskGone as TaskGone
    from queueops.errors import TaskSuperseded as TaskSuperseded
    from queueops.handle import TaskHandle as TaskHandle
    from queueops.handle import TaskStatus as TaskStatus
    from queueops.handle import get as get
    from queueops.kinds.iterator import Batch as Batch
    from queueops.kinds.iterator import Iterator as Iterator
    from queueops.kinds.mapreduce import MapReduce as MapReduce
    from queueops.kinds.parts import chain as chain
    from queueops.kinds.parts import group as group
    from queueops.kinds.task import task as task
    from queueops.kinds.templates import Chain as Chain
    from queueops.kinds.templates import Group as Group
    from queueops.retry import Retry as Retry
    from queueops.schedule import Schedule as Schedule
    from queueops.signals import task_cancelled as task_cancelled
    from queueops.signals import task_failed as task_failed
    from queueops.signals import task_retried as task_retried
    from queueops.signals import task_started as task_started
    from queueops.signals import task_succeeded as task_succeeded

    def Depends(func: Any) -> Any:  # noqa: N802
        """The mark of a parameter that gets what `func` gives; a type checker takes it for any parameter's default."""


_HOMES = {
    "queueops.context": ("current",),
    "queueops.depends": ("Depends",),
    "queueops.errors": (
        "BadArguments",
        "BadId",
        "BrokerUnavailable",
        "IdInUse",
        "NotDurable",
        "NotEncodable",
        "PayloadTooLarge",
        "QueueOpsError",
        "ResultTimeout",
        "SoftTimeout",
        "StoreFull",
        "TaskCancelled",
        "TaskFailed",
        "TaskGone",
        "TaskSuperseded",
    ),
    "queueops.handle": ("TaskHandle", "TaskStatus", "get"),
    "queueops.kinds.iterator": ("Batch", "Iterator"),
    "queueops.kinds.mapreduce": ("MapReduce",),
    "queueops.kinds.parts": ("chain", "group"),
    "queueops.kinds.task": ("task",),
    "queueops.kinds.templates": ("Chain", "Group"),
    "queueops.retry": ("Retry",),
    "queueops.schedule": ("Schedule",),
    "queueops.signals": ("task_cancelled", "task_failed", "task_retried", "task_started", "task_succeeded"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME_OF, "__version__"])


_MODULES = ("control", "inspect", "schedules")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"queueops.{name}")  # which makes it an attribute
    if name not in _HOME_OF:
        raise AttributeError(f"module 'queueops' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
