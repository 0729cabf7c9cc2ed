"""Background work for Django on Redis or Valkey, and the console to see it, understand it and act on it.

The names of this module are the public interface. Each name is imported when it is first used. So `import queueops`
costs nothing and works before Django is set up.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

__version__ = "0.1.0"

if TYPE_CHECKING:
    from queueops.errors import BadArguments as BadArguments
    from queueops.errors import BadId as BadId
    from queueops.errors import BrokerUnavailable as BrokerUnavailable
    from queueops.errors import Cancelled as Cancelled
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
    from queueops.errors.leases import LeaseLost as LeaseLost
    from queueops.errors.refusals import DurabilityUnsupported as DurabilityUnsupported
    from queueops.errors.results import BadResult as BadResult
    from queueops.errors.tasks import NotImportable as NotImportable
    from queueops.kinds.composites.iterator import Batch as Batch
    from queueops.kinds.composites.iterator import Iterator as Iterator
    from queueops.kinds.composites.parts import Composite as Composite
    from queueops.kinds.composites.parts import Signature as Signature
    from queueops.kinds.composites.parts import chain as chain
    from queueops.kinds.composites.parts import group as group
    from queueops.kinds.composites.templates import Chain as Chain
    from queueops.kinds.composites.templates import Group as Group
    from queueops.kinds.mapreduce.job import MapReduce as MapReduce
    from queueops.kinds.mapreduce.options import Results as Results
    from queueops.kinds.workflows.definition import activity as activity
    from queueops.kinds.workflows.definition import wf as wf
    from queueops.kinds.workflows.definition import workflow as workflow
    from queueops.model.retry import Retry as Retry
    from queueops.model.states import State as State
    from queueops.results.handle import Progress as Progress
    from queueops.results.handle import TaskHandle as TaskHandle
    from queueops.results.handle import TaskStatus as TaskStatus
    from queueops.results.handle import aget as aget
    from queueops.results.handle import get as get
    from queueops.schedules.schedule import Schedule as Schedule
    from queueops.signals import composite_cancelled as composite_cancelled
    from queueops.signals import composite_failed as composite_failed
    from queueops.signals import composite_succeeded as composite_succeeded
    from queueops.signals import task_cancelled as task_cancelled
    from queueops.signals import task_expired as task_expired
    from queueops.signals import task_failed as task_failed
    from queueops.signals import task_pushed as task_pushed
    from queueops.signals import task_retried as task_retried
    from queueops.signals import task_started as task_started
    from queueops.signals import task_succeeded as task_succeeded
    from queueops.signals import worker_idle as worker_idle
    from queueops.signals import worker_started as worker_started
    from queueops.signals import worker_stopping as worker_stopping
    from queueops.tasks.by_name import apush as apush
    from queueops.tasks.by_name import push as push
    from queueops.tasks.by_name import task_named as task_named
    from queueops.tasks.context import Context as Context
    from queueops.tasks.context import current as current
    from queueops.tasks.decisions import Permanent as Permanent
    from queueops.tasks.decisions import RetryLater as RetryLater
    from queueops.tasks.decorator import task as task

    def Depends(func: Any, *, scope: Literal["task", "process"] = "task") -> Any:  # noqa: N802
        """The mark of a parameter that gets what `func` gives; a type checker takes it for any parameter's default."""


_HOMES = {
    "queueops.tasks.context": ("Context", "current"),
    "queueops.tasks.decisions": ("Permanent", "RetryLater"),
    "queueops.tasks.depends": ("Depends",),
    "queueops.errors": (
        "BadArguments",
        "BadId",
        "BrokerUnavailable",
        "Cancelled",
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
    "queueops.results.handle": ("Progress", "TaskHandle", "TaskStatus", "aget", "get"),
    "queueops.tasks.by_name": ("apush", "push", "task_named"),
    "queueops.kinds.mapreduce.options": ("Results",),
    "queueops.kinds.composites.iterator": ("Batch", "Iterator"),
    "queueops.kinds.mapreduce.job": ("MapReduce",),
    "queueops.kinds.composites.parts": ("Composite", "Signature", "chain", "group"),
    "queueops.tasks.decorator": ("task",),
    "queueops.kinds.workflows.definition": ("activity", "wf", "workflow"),
    "queueops.kinds.composites.templates": ("Chain", "Group"),
    "queueops.errors.leases": ("LeaseLost",),
    "queueops.errors.refusals": ("DurabilityUnsupported",),
    "queueops.errors.results": ("BadResult",),
    "queueops.model.retry": ("Retry",),
    "queueops.schedules.schedule": ("Schedule",),
    "queueops.signals": (
        "composite_cancelled",
        "composite_failed",
        "composite_succeeded",
        "task_cancelled",
        "task_expired",
        "task_failed",
        "task_pushed",
        "task_retried",
        "task_started",
        "task_succeeded",
        "worker_idle",
        "worker_started",
        "worker_stopping",
    ),
    "queueops.model.states": ("State",),
    "queueops.errors.tasks": ("NotImportable",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME_OF, "__version__"])


_MODULES = ("control", "events", "inspect", "schedules")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"queueops.{name}")  # which makes it an attribute
    if name not in _HOME_OF:
        raise _missing(name)
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def _missing(name: str) -> Exception:
    """ImportError for a name of another task queue: `from queueops import chord` hides what an AttributeError says."""
    if not name.startswith("_"):
        error: ImportError | None = import_module("queueops.tasks.foreign_names").missing_import(name)
        if error is not None:
            return error
    return AttributeError(f"module 'queueops' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
