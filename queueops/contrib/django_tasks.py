"""Backend for Django's own tasks: `django.tasks` (Django 6), or the package `django-tasks` before that.

    TASKS = {"default": {
        "BACKEND": "queueops.contrib.django_tasks.QueueOpsBackend",
        "QUEUES": [],  # all of them
        "OPTIONS": {"retries": 2},
    }}

A queue is a pool: `runworker --pool NAME` serves it. `OPTIONS` holds further options of `using()`: retries, retry,
timeout, tags, keep, lane, durable. The default of retries is 0, because Django's tasks are attempted once.

A task that is enqueued within a database transaction is pushed after the commit. The option `transactions` is another
value of the setting TRANSACTIONS for this backend: "now", "warn", "on_commit" or "outbox".
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from django.core import checks
from django.utils import timezone

from queueops import conf
from queueops.conf import Transactions, readers
from queueops.contrib.django_attempts import HardTimeout, TaskQuarantined, WorkerLost
from queueops.contrib.django_library import DEFAULT_ALIAS, invalid_task, library, moment
from queueops.contrib.django_results import fill, new_result, result_of
from queueops.contrib.django_task_kind import KIND
from queueops.errors import BadArguments, BadId, BadOption, QueueOpsError
from queueops.model.contracts import Push
from queueops.model.ids import check_lane, new_id
from queueops.redis import broker as brokers
from queueops.tasks import outbox, transactions
from queueops.tasks.encoding import encode_arguments
from queueops.tasks.foreign_names import unknown_option
from queueops.tasks.options import Options

__all__ = ["HardTimeout", "QueueOpsBackend", "TaskQuarantined", "WorkerLost"]

OPTIONS = ("durable", "keep", "lane", "retries", "retry", "tags", "timeout", "transactions")
"""The permitted `OPTIONS`; the task has the other options of a push."""

_base: Any = library("backends.base")
_signals: Any = library("signals")


class QueueOpsBackend(_base.BaseTaskBackend):  # type: ignore[misc]  # one of two libraries, known at run time
    """Runs Django's tasks on QueueOps."""

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        """Store the settings; `check` and each `enqueue` report their errors."""
        super().__init__(alias, params)
        self._chosen, self._transactions, self._wrong = _read_options(alias, self.options)

    def validate_task(self, task: Any) -> None:
        """Raise Django's error for a task that this backend refuses."""
        super().validate_task(task)
        if _is_no_pool(task.queue_name):
            raise invalid_task(f"{_queue_problem(task.queue_name)} {_NAME_HINT}")

    def enqueue(self, task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Push the task, after the caller's database transaction. Until then `get_result` does not find it.

        Raises the errors of a push, and Django's error for an invalid task.
        """
        if self._wrong:
            raise self._wrong[0]
        self.validate_task(task)
        _check_signature(task, args, kwargs)
        result = new_result(task, new_id(), self.alias, args, kwargs)
        push = self._push(result)
        send = partial(self._send, push, result)
        mode = self._transactions or transactions.of_settings(Transactions.ON_COMMIT)
        if wait := transactions.to_wait_for(task.module_path, mode, _ADVICE):
            wait.leave(send, partial(self._kept, push, result))
        else:
            send()
        return result

    def _kept(self, push: Push, result: Any) -> Iterator[outbox.Kept]:
        """The row of the task, which is enqueued with its transaction."""
        fill(result, enqueued_at=timezone.now())
        _signals.task_enqueued.send(type(self), task_result=result)
        return outbox.plain((push,), durable=self._chosen.durable)

    def _send(self, push: Push, result: Any) -> None:
        broker = brokers.get_broker()
        (pushed,) = broker.push([push], durable=self._chosen.durable)
        created = pushed.created_ms or _created(broker.record(push.pool, push.id))
        fill(result, enqueued_at=moment(created))
        _signals.task_enqueued.send(type(self), task_result=result)

    def get_result(self, result_id: str) -> Any:
        """The result with this id, whichever backend of QueueOps pushed it. Raises TaskResultDoesNotExist."""
        broker = brokers.get_broker()
        found = broker.find(result_id)
        result = None
        if found and found[1].kind == KIND:
            result = result_of(found[1], broker.log(found[0], result_id))
        if result is None:
            raise library("exceptions").TaskResultDoesNotExist(result_id)
        return result

    def check(self, **kwargs: Any) -> Iterable[checks.CheckMessage]:
        """The errors in `TASKS` for this backend."""
        yield from super().check(**kwargs)
        yield from self._problems()

    def _problems(self) -> Iterator[checks.CheckMessage]:
        from django.apps import apps

        place = f"TASKS[{self.alias!r}]"
        if not apps.is_installed("queueops"):
            hint = 'Add "queueops" to INSTALLED_APPS.'
            yield checks.Error("Its backend needs the app queueops.", hint=hint, obj=place, id="queueops.E020")
        hint = f"The options are {', '.join(OPTIONS)}."
        for error in self._wrong:
            yield checks.Error(str(error), hint=hint, obj=f"{place}['OPTIONS']", id="queueops.E021")
        for queue in sorted(filter(_is_no_pool, self.queues), key=str):
            yield checks.Error(_queue_problem(queue), hint=_NAME_HINT, obj=f"{place}['QUEUES']", id="queueops.E022")

    def _push(self, result: Any) -> Push:
        task, due = result.task, result.task.run_after
        if isinstance(due, timedelta):
            due = timezone.now() + due
        options = self._chosen.but(pool=task.queue_name, priority=task.priority, delay=due)
        data = encode_arguments(task.module_path, result.args, result.kwargs)
        own = {
            "ba": "" if self.alias == DEFAULT_ALIAS else self.alias,
            "ra": "" if due is None else due.isoformat(),
        }
        return Push(
            id=result.id,
            name=task.module_path,
            kind=KIND,
            args=data,
            own=tuple((name, value) for name, value in own.items() if value),
            **options.push_fields(conf.current()),
        )


_ADVICE = 'Set "transactions" in the OPTIONS of its backend to "on_commit".'
_NAME_HINT = "A queue is a pool: its name has 1 to 100 letters, digits and ._:@/=+-"


def _read_options(alias: str, given: Any) -> tuple[Options, Transactions | None, list[QueueOpsError]]:
    """The options of all tasks of a backend, its mode of transactions, and the errors of invalid options."""
    found, mode, place = Options(retries=0), None, f"TASKS[{alias!r}]['OPTIONS']"
    if not isinstance(given, Mapping):
        return found, mode, [BadOption(name=place, value=given, expected="a dict")]
    wrong: list[QueueOpsError] = []
    for name, value in given.items():
        try:
            if name not in OPTIONS:
                raise unknown_option(name, OPTIONS, f"The backend {alias!r} of TASKS")
            if name == "transactions":
                mode = _mode(value)
            else:
                found = found.but(**{name: value})
        except QueueOpsError as error:
            wrong.append(error)
    return found, mode, wrong


def _mode(value: Any) -> Transactions:
    try:
        return readers.choice(Transactions)(value)
    except readers.Unfit as unfit:
        raise BadOption(name="transactions", value=value, expected=unfit.expected) from unfit


def _is_no_pool(queue: object) -> bool:
    try:
        check_lane(queue)
    except BadId:
        return True
    return False


def _queue_problem(queue: object) -> str:
    return f"The queue {queue!r} cannot be the name of a pool."


def _created(record: Any) -> int | None:
    """The time of the push of a task whose first answer was lost."""
    return None if record is None else record.created


def _check_signature(task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    given = [None, *args] if task.takes_context else args
    try:
        inspect.signature(task.func).bind(*given, **kwargs)
    except TypeError as error:
        raise BadArguments(name=task.module_path, reason=f"{error}.") from None
