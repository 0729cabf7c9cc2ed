"""Django's own tasks on QueueOps."""

from __future__ import annotations

import asyncio
import datetime as dt
from importlib import import_module

import pytest
from django.utils import timezone

from queueops.errors import BadArguments, UnknownOption
from queueops.handle import TaskHandle
from queueops.kinds.django_task import library, load
from queueops.redis.broker import get_broker
from queueops.states import State
from queueops.testing import run_worker

BACKEND = "queueops.contrib.django_tasks.QueueOpsBackend"


@pytest.fixture
def tasks(namespace, settings):
    settings.TASKS = {"default": {"BACKEND": BACKEND, "QUEUES": ["default", "mail"]}}
    return import_module("tests.django_tasks_for_tests")


@pytest.mark.parametrize("name", ["add", "add_later"])
def test_a_task_is_enqueued_run_and_refreshed(tasks, name):
    result = getattr(tasks, name).enqueue(1, b=2)
    assert (result.status, result.args, result.kwargs, result.attempts) == ("READY", [1], {"b": 2}, 0)
    assert run_worker() == 1
    result.refresh()
    assert (result.status, result.return_value, result.attempts) == ("SUCCESSFUL", 3, 1)
    assert result.enqueued_at <= result.started_at <= result.finished_at


def test_a_failure_is_one_attempt_with_its_traceback(tasks):
    result = tasks.fail.enqueue()
    run_worker()
    result.refresh()
    assert (result.status, result.attempts) == ("FAILED", 1)
    assert result.errors[0].exception_class is KeyError
    assert 'raise KeyError("missing")' in result.errors[0].traceback
    with pytest.raises(ValueError, match="Task failed"):
        _ = result.return_value


def test_a_queue_is_a_pool_and_priorities_are_the_same(tasks):
    record = get_broker().record("mail", tasks.fail.enqueue().id)
    assert (record.pool, record.priority, record.name) == ("mail", 7, "tests.django_tasks_for_tests.fail")


def test_the_context_is_given(tasks):
    result = tasks.which.enqueue()
    run_worker()
    result.refresh()
    assert result.return_value == [1, result.id]


def test_deferred_tasks_wait(tasks):
    result = tasks.add.using(run_after=timezone.now() + dt.timedelta(hours=1)).enqueue(1)
    handle = TaskHandle(result.id)
    assert handle.state is State.POSTPONED
    assert handle.run_now()
    run_worker()
    result.refresh()
    assert result.return_value == 2


def test_a_cancelled_task_counts_as_failed(tasks):
    result = tasks.add.enqueue(1)
    TaskHandle(result.id).cancel("not needed")
    result.refresh()
    assert (result.status, result.errors[0].traceback) == ("FAILED", "not needed")


def test_results_are_found_by_id_and_only_they(tasks):
    exceptions = library("exceptions")
    result = tasks.add.enqueue(1)
    assert tasks.add.get_result(result.id).id == result.id
    assert asyncio.run(tasks.add.aget_result(result.id)).id == result.id
    with pytest.raises(exceptions.TaskResultMismatch):
        tasks.fail.get_result(result.id)
    with pytest.raises(exceptions.TaskResultDoesNotExist):
        tasks.add.get_result("nothing")


def test_async_code_enqueues(tasks):
    result = asyncio.run(tasks.add.aenqueue(1))
    assert TaskHandle(result.id).state is State.PENDING


def test_wrong_arguments_are_refused_at_once(tasks):
    for args, kwargs in [((), {}), ((1,), {"c": 1})]:
        with pytest.raises(BadArguments):
            tasks.add.enqueue(*args, **kwargs)
    with pytest.raises(TypeError):
        tasks.add.enqueue(object())


def test_djangos_signals_are_sent(tasks):
    signals, seen = library("signals"), []

    def hear(signal, task_result, **_):
        seen.append(task_result.status)

    for signal in (signals.task_enqueued, signals.task_started, signals.task_finished):
        signal.connect(hear)
    try:
        tasks.add.enqueue(1)
        tasks.fail.enqueue()
        run_worker()
    finally:
        for signal in (signals.task_enqueued, signals.task_started, signals.task_finished):
            signal.disconnect(hear)
    assert sorted(seen) == ["FAILED", "READY", "READY", "RUNNING", "RUNNING", "SUCCESSFUL"]


def test_options_apply_to_all_tasks_of_the_backend(tasks, settings):
    settings.TASKS = {"default": {"BACKEND": BACKEND, "OPTIONS": {"retries": 3, "timeout": 2}}}
    record = get_broker().record("default", tasks.add.enqueue(1).id)
    assert (record.retries, record.timeout) == (3, 2000)
    settings.TASKS = {"default": {"BACKEND": BACKEND, "OPTIONS": {"retrys": 3}}}
    with pytest.raises(UnknownOption):
        tasks.add.enqueue(1)


def test_only_tasks_are_ever_loaded(tasks):
    assert load("os.system") is None
    assert load("no.such.module") is None
    assert load("nothing") is None
    assert load("tests.django_tasks_for_tests.add") is tasks.add
