"""The kind of Django's own tasks: the name of a task is the path of its function, and its handler is found by that."""

from __future__ import annotations

import traceback
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from inspect import iscoroutinefunction
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone
from django.utils.module_loading import import_string

from queueops import registry
from queueops.context import Context
from queueops.encoding import decode_arguments

KIND = "django_task"


@cache
def library(module: str) -> Any:
    """A module of `django.tasks`, or of `django_tasks` where Django has none. Raises ImproperlyConfigured."""
    for package in ("django.tasks", "django_tasks"):
        if find_spec(package) is not None:
            return import_module(f"{package}.{module}")
    raise ImproperlyConfigured("Django 5.2 needs the package django-tasks for this: pip install django-tasks")


def load(path: str) -> Any:
    """The task at this path, or None when there is none. Nothing but a task is ever answered."""
    found = None
    with suppress(ImportError, ValueError):
        found = import_string(path)
    return found if isinstance(found, library("base").Task) else None


class DjangoTaskHandler:
    """Runs one of Django's tasks with its arguments as they are: plain JSON values."""

    kind = KIND
    retry_on = (Exception,)

    def __init__(self, task: Any) -> None:
        self.name: str = task.module_path
        self.task = task
        self.is_async = iscoroutinefunction(task.func)
        self._signals = library("signals")

    def run(self, context: Context) -> Any:
        """Run the task (a coroutine when it is async), and send Django's signals."""
        return self._run_async(context) if self.is_async else self._run(context)

    def _run(self, context: Context) -> Any:
        result, facts = self._result(context), {"sender": type(self.task.get_backend())}
        self._signals.task_started.send(task_result=result, **facts)
        try:
            value = self._call(result)
        except Exception as error:  # only to tell; it goes on to the worker
            if context.lease.attempt > context.lease.retries:
                self._signals.task_finished.send(task_result=_failed(result, error), **facts)
            raise
        self._signals.task_finished.send(task_result=_succeeded(result, value), **facts)
        return value

    async def _run_async(self, context: Context) -> Any:
        result, facts = self._result(context), {"sender": type(self.task.get_backend())}
        await self._signals.task_started.asend(task_result=result, **facts)
        try:
            value = await self._call(result)
        except Exception as error:  # the same
            if context.lease.attempt > context.lease.retries:
                await self._signals.task_finished.asend(task_result=_failed(result, error), **facts)
            raise
        await self._signals.task_finished.asend(task_result=_succeeded(result, value), **facts)
        return value

    def _call(self, result: Any) -> Any:
        first = [library("base").TaskContext(task_result=result)] if self.task.takes_context else []
        return self.task.func(*first, *result.args, **result.kwargs)

    def _result(self, context: Context) -> Any:
        """The result as it is now, in the middle."""
        base, lease, now = library("base"), context.lease, timezone.now()
        args, kwargs = decode_arguments(lease.name, lease.args)
        return base.TaskResult(
            task=self.task.using(priority=lease.priority, queue_name=lease.pool),
            id=lease.id,
            status=base.TaskResultStatus.RUNNING,
            enqueued_at=None,
            started_at=now,
            finished_at=None,
            last_attempted_at=now,
            args=args,
            kwargs=kwargs,
            backend=lease.meta.decode() or self.task.backend,
            errors=[],
            worker_ids=[f"attempt {number}" for number in range(1, lease.attempt + 1)],
        )


def _succeeded(result: Any, value: Any) -> Any:
    object.__setattr__(result, "_return_value", value)
    return _finished(result, "SUCCESSFUL")


def _failed(result: Any, error: Exception) -> Any:
    path = f"{type(error).__module__}.{type(error).__qualname__}"
    text = "".join(traceback.format_exception(error))
    result.errors.append(library("base").TaskError(exception_class_path=path, traceback=text))
    return _finished(result, "FAILED")


def _finished(result: Any, status: str) -> Any:
    object.__setattr__(result, "status", library("base").TaskResultStatus[status])
    object.__setattr__(result, "finished_at", timezone.now())
    return result


def _handler(path: str) -> DjangoTaskHandler | None:
    task = load(path)
    return None if task is None else DjangoTaskHandler(task)


registry.register_resolver(KIND, _handler)
