"""The backend for Django's own tasks: `django.tasks` (Django 6), or the package `django-tasks` before that.

    TASKS = {"default": {
        "BACKEND": "queueops.contrib.django_tasks.QueueOpsBackend",
        "QUEUES": [],  # all of them
        "OPTIONS": {"retries": 2},
    }}

A queue is a pool: `runworker --pool NAME` serves it. `OPTIONS` may hold what `using()` takes besides: retries (0 by
default, as Django's tasks are attempted once), retry, timeout, tags, keep, lane, durable.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.core import checks
from django.utils import timezone

from queueops import conf
from queueops.contracts import Push
from queueops.contrib.django_results import result_of
from queueops.encoding import encode_arguments
from queueops.errors import BadArguments
from queueops.ids import new_id
from queueops.kinds.django_task import KIND, library
from queueops.kinds.options import Options
from queueops.redis import broker as brokers

_base: Any = library("backends.base")
_signals: Any = library("signals")


class QueueOpsBackend(_base.BaseTaskBackend):  # type: ignore[misc]  # one of two libraries, known at run time
    """Runs Django's tasks on QueueOps."""

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        self._chosen = Options(retries=0).but(**self.options)

    def enqueue(self, task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Push the task. Raises what every push raises, and Django's error for a task that is not valid."""
        self.validate_task(task)
        _check_signature(task, args, kwargs)
        result = self._ready(task, args, kwargs)
        brokers.get_broker().push([self._push(result)], durable=self._chosen.durable)
        _signals.task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> Any:
        """The result with this id. Raises Django's TaskResultDoesNotExist."""
        found = brokers.get_broker().find(result_id)
        result = result_of(found[1], self.alias) if found and found[1].kind == KIND else None
        if result is None:
            raise library("exceptions").TaskResultDoesNotExist(result_id)
        return result

    def check(self, **kwargs: Any) -> Iterable[checks.CheckMessage]:
        """What is wrong with `TASKS` for this backend."""
        from django.apps import apps

        if not apps.is_installed("queueops"):
            hint = 'Add "queueops" to INSTALLED_APPS.'
            yield checks.Error(
                "Its backend needs the app queueops.", hint=hint, obj=f"TASKS[{self.alias!r}]", id="queueops.E020"
            )

    def _ready(self, task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result of a task that has just been pushed; making it refuses arguments that are no plain JSON."""
        base = library("base")
        return base.TaskResult(
            task=task,
            id=new_id(),
            status=base.TaskResultStatus.READY,
            enqueued_at=timezone.now(),
            started_at=None,
            finished_at=None,
            last_attempted_at=None,
            args=list(args),
            kwargs=dict(kwargs),
            backend=self.alias,
            errors=[],
            worker_ids=[],
        )

    def _push(self, result: Any) -> Push:
        task = result.task
        options = self._chosen.but(pool=task.queue_name, priority=task.priority, delay=_aware(task.run_after))
        data = encode_arguments(task.module_path, result.args, result.kwargs)
        fields = options.push_fields(conf.current())
        return Push(id=result.id, name=task.module_path, kind=KIND, args=data, meta=self.alias.encode(), **fields)


def _aware(moment: Any) -> Any:
    """Without USE_TZ Django's moments are naive, in the local time zone."""
    return timezone.make_aware(moment) if moment is not None and timezone.is_naive(moment) else moment


def _check_signature(task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    given = [None, *args] if task.takes_context else args
    try:
        inspect.signature(task.func).bind(*given, **kwargs)
    except TypeError as error:
        raise BadArguments(name=task.module_path, reason=f"{error}.") from None
