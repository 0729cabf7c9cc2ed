"""Push by name: leaves a call to workers that have the code, from a process that may not have it.

Where this process has the code of the task, the arguments and options of that task apply.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn, Unpack, cast

from queueops.errors.tasks import BadTask, CodeElsewhere
from queueops.model import kinds
from queueops.model.ids import check_id
from queueops.model.states import CONTAINERS
from queueops.results.handle import TaskHandle
from queueops.tasks import registry
from queueops.tasks.handlers import FunctionHandler
from queueops.tasks.options import Options, PushOptions
from queueops.tasks.task import Task


def push(name: str, /, *args: Any, **kwargs: Any) -> TaskHandle[Any]:
    """Leave the call of the task `name` to a worker.

    If this process has the code of the task, its arguments and options apply. Otherwise any arguments are accepted, as
    plain JSON, and the options are the defaults: see `task_named`. Raises what every push raises.
    """
    return task_named(name).push(*args, **kwargs)


async def apush(name: str, /, *args: Any, **kwargs: Any) -> TaskHandle[Any]:
    """The same for async code."""
    return await task_named(name).apush(*args, **kwargs)


def task_named(name: str, /, **options: Unpack[PushOptions]) -> Task[..., Any, Any]:
    """The task of this name, with these options of `using`.

    It is a task or a class that this process knows, otherwise a plain task whose code only workers have. Raises BadId,
    BadTask, UnknownOption and BadOption.
    """
    if callable(name):
        raise BadTask(reason=f"queueops.push and task_named take the name of a task, not {name!r}. {_instead_of(name)}")
    found = _known(check_id(name, "name of a task")) or RemoteTask(name)
    return found.using(**options) if options else found


def _instead_of(given: Any) -> str:
    """What to write if a task, a class or a function is given in the place of a name."""
    name = getattr(given, "__name__", "f")
    is_task = isinstance(given, Task) or hasattr(given, "push")
    return f"Write {name}.push(...)." if is_task else f"Put @task above {name}, and write {name}.push(...)."


def all_tasks() -> Iterator[Task[Any, Any, Any]]:
    """Every task, without duplicates: some have several handlers."""
    seen: set[str] = set()
    for handler in list(registry.handlers().values()):
        task = getattr(handler, "task", None)
        if isinstance(task, Task) and task.name not in seen:
            seen.add(task.name)
            yield task


class RemoteTask(Task[..., Any, Any]):
    """A plain task without its code in this process: it can be pushed, postponed and made a part, but not called."""

    def __init__(self, name: str) -> None:
        super().__init__(FunctionHandler(_anything, name, (Exception,)), Options())
        self.__name__ = self.__qualname__ = name
        self.__doc__ = None

    def __call__(self, /, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse the call: the function is not here."""
        raise CodeElsewhere(name=self.name)


def _anything(*args: Any, **kwargs: Any) -> None:
    """Accept any arguments."""


def _known(name: str) -> Task[..., Any, Any] | None:
    """The task of a function, or else of a class. Other handlers are those of kinds that are not pushed by name."""
    handlers = registry.handlers()
    task = getattr(handlers.get(("task", name)), "task", None)
    if isinstance(task, Task):
        return task
    for record in kinds.records():
        if record not in CONTAINERS and (cls := getattr(handlers.get((record, name)), "cls", None)) is not None:
            return cast("Task[..., Any, Any]", cls.task)
    for record in CONTAINERS:
        if (handler := handlers.get((record, name))) is not None:
            return cast("Task[..., Any, Any]", getattr(handler, "cls", None))  # the class has the methods of a task
    return None
