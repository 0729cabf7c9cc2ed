"""Django task kind: runs tasks of Django's framework; the task's name is the import path of its function."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from inspect import iscoroutinefunction
from typing import Any

from asgiref.sync import sync_to_async
from msgspec.structs import replace

from queueops.contrib.django_attempts import TaskQuarantined, own_error, stored_error
from queueops.contrib.django_library import backend_of, library, load, moment, plain_json
from queueops.contrib.django_results import ended, result_of, running_result
from queueops.errors import BrokerUnavailable, QueueOpsError, TaskCancelled, TaskFailed
from queueops.model.contracts import Lease, Outcome, Settlement
from queueops.model.states import State
from queueops.redis import broker as brokers
from queueops.tasks import registry
from queueops.tasks.context import Context
from queueops.tasks.encoding import decode_result, encode_result
from queueops.worker.execution.settlements import will_be_retried

KIND = "django_task"

logger = logging.getLogger("queueops.worker")


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
        """Run the task (a coroutine when it is async), after Django's signal task_started."""
        return self._arun(context) if self.is_async else self._call(self._begin(context))

    async def _arun(self, context: Context) -> Any:
        return await self._call(await sync_to_async(self._begin)(context))

    def _begin(self, context: Context) -> Any:
        result = running_result(context.lease, _log(context.lease), self.task)
        self._signals.task_started.send_robust(self._sender(result), task_result=result)
        return result

    def encode_result(self, name: str, value: Any) -> bytes:
        """The result as it is stored. Raises TypeError and ValueError for values that Django's framework refuses."""
        return encode_result(name, plain_json(value))

    def tell_end(self, context: Context, settlement: Settlement) -> None:
        """Send task_finished at the end of the task, but not after an attempt that is followed by another."""
        if (result := self._ended(context.lease, settlement)) is not None:
            self._signals.task_finished.send_robust(self._sender(result), task_result=result)

    def _call(self, result: Any) -> Any:
        first = [library("base").TaskContext(task_result=result)] if self.task.takes_context else []
        return self.task.func(*first, *result.args, **result.kwargs)

    def _sender(self, result: Any) -> type:
        return type(backend_of(result.backend))

    def _ended(self, lease: Lease, settlement: Settlement) -> Any:
        """The result at the end of the task; None when it will run again."""
        if settlement.outcome is Outcome.SUCCESS:
            value = decode_result(lease.name, settlement.value)
            return ended(running_result(lease, _log(lease), self.task), "SUCCESSFUL", _now(lease), value=value)
        if (error := _error_of(lease, settlement)) is None:
            return None
        readable = replace(lease, args=b"") if settlement.outcome is Outcome.QUARANTINE else lease
        return ended(running_result(readable, _log(lease), self.task), "FAILED", _now(lease), [error])


def tell_cancelled(pool: str, ids: Sequence[str]) -> None:
    """Send task_finished for the Django tasks that this process has just cancelled."""
    for task_id in ids:
        try:
            result = _cancelled_result(pool, task_id)
        except QueueOpsError as error:
            logger.warning("The signal task_finished of the cancelled task %s is not sent: %s", task_id, error)
            continue
        if result is not None:
            library("signals").task_finished.send_robust(type(backend_of(result.backend)), task_result=result)


def _cancelled_result(pool: str, task_id: str) -> Any:
    broker = brokers.get_broker()
    record = broker.record(pool, task_id)
    if record is None or record.kind != KIND or record.state != State.CANCELLED:
        return None
    return result_of(record, broker.log(pool, task_id))


def _error_of(lease: Lease, settlement: Settlement) -> Any:
    """The outcome of the task; None when it will run again."""
    match settlement.outcome:
        case Outcome.ERROR | Outcome.TIMEOUT if not will_be_retried(lease, settlement):
            return stored_error(settlement.value)
        case Outcome.CANCEL:
            return own_error(TaskCancelled, settlement.value.decode())
        case Outcome.QUARANTINE:
            return own_error(TaskQuarantined, settlement.value.decode("utf-8", "replace"))
        case Outcome.RESTART if settlement.counted and lease.attempt > lease.retries:
            return own_error(TaskFailed, "restarted itself more often than its retries allow")
    return None


def _log(lease: Lease) -> Sequence[bytes]:
    """The stored data of earlier attempts. A store that does not answer now must not cost the task an attempt."""
    if lease.attempt == 1 and lease.crashes == 0:
        return ()
    try:
        return brokers.get_broker().log(lease.pool, lease.id)
    except BrokerUnavailable as error:
        logger.warning("The earlier attempts of task %s cannot be read: %s", lease.id, error)
        return ()


def _now(lease: Lease) -> Any:
    """Now, by the store's clock."""
    return moment(lease.begun_ms + round((time.monotonic() - lease.received) * 1000))


def _handler(path: str) -> DjangoTaskHandler | None:
    task = load(path)
    return None if task is None else DjangoTaskHandler(task)


registry.register_resolver(KIND, _handler)
registry.register_cancel_listener(lambda: (KIND,), tell_cancelled)
