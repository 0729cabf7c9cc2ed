"""Django's signals of a task: when they are sent, with which result, and what a receiver that raises does."""

from __future__ import annotations

import logging
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any

import pytest

from queueops.contrib.django_library import library
from queueops.contrib.django_tasks import QueueOpsBackend, TaskQuarantined
from queueops.control import tasks as control
from queueops.errors import SoftTimeout, TaskCancelled, TaskFailed
from queueops.model.contracts import RoundTrip
from queueops.redis.broker import get_broker
from queueops.results.handle import TaskHandle
from queueops.tasks import middleware
from queueops.testing import run_worker

BACKEND = "queueops.contrib.django_tasks.QueueOpsBackend"
NAMES = ("task_enqueued", "task_started", "task_finished")
BOTH = pytest.mark.parametrize("later", ["", "_later"], ids=["sync", "async"])


@pytest.fixture
def tasks(namespace, settings):
    settings.TASKS = {"default": {"BACKEND": BACKEND, "QUEUES": []}}
    return import_module("tests.support.django_tasks_for_tests")


@contextmanager
def receiving(name: str, receiver: Any) -> Any:
    signal = getattr(library("signals"), name)
    signal.connect(receiver)
    try:
        yield
    finally:
        signal.disconnect(receiver)


@pytest.fixture
def sent():
    """What the signals brought, in order: the signal's name, and the result."""
    found: list[tuple[str, Any]] = []

    def receiver(name: str) -> Any:
        def receive(sender: Any, task_result: Any, **_: Any) -> None:
            assert sender is QueueOpsBackend
            found.append((name.removeprefix("task_"), task_result))

        return receive

    with ExitStack() as stack:
        for name in NAMES:
            stack.enter_context(receiving(name, receiver(name)))
        yield found


def words(sent: Any) -> list[tuple[str, str]]:
    return [(name, str(result.status)) for name, result in sent]


def the_end(sent: Any) -> Any:
    """The result of the one task_finished."""
    (result,) = [result for name, result in sent if name == "finished"]
    return result


def as_stored(result: Any) -> Any:
    """The result that the store has of an ended task, with the moment of the signal as its end."""
    stored = result.task.get_result(result.id)
    assert result.started_at <= result.finished_at <= stored.finished_at
    object.__setattr__(stored, "finished_at", result.finished_at)
    return stored


@BOTH
def test_each_signal_is_sent_once_with_the_result_as_it_is_then(tasks, sent, later):
    pushed = getattr(tasks, f"add{later}").enqueue(1)
    run_worker()
    assert words(sent) == [("enqueued", "READY"), ("started", "RUNNING"), ("finished", "SUCCESSFUL")]
    assert sent[0][1] is pushed
    assert the_end(sent).return_value == 2
    assert the_end(sent) == as_stored(the_end(sent))


def test_a_failure_is_told_with_its_error(tasks, sent):
    tasks.fail.enqueue()
    run_worker()
    assert words(sent)[1:] == [("started", "RUNNING"), ("finished", "FAILED")]
    assert the_end(sent) == as_stored(the_end(sent))


def test_only_the_last_attempt_is_the_end(tasks, sent, settings):
    settings.TASKS = {"default": {"BACKEND": BACKEND, "QUEUES": [], "OPTIONS": {"retries": 2}}}
    handle = TaskHandle(tasks.fail.enqueue().id, "mail")
    run_worker()
    while handle.run_now():
        run_worker()
    assert words(sent)[1:] == [("started", "RUNNING")] * 3 + [("finished", "FAILED")]
    assert [len(result.errors) for _, result in sent[1:]] == [0, 1, 2, 3]
    assert the_end(sent) == as_stored(the_end(sent))


@BOTH
@pytest.mark.parametrize(
    ("how", "error"),
    [
        ("exit", SystemExit),
        ("timeout", SoftTimeout),
        ("cancel", TaskCancelled),
        ("restart", TaskFailed),
        ("later", KeyError),
        ("permanent", KeyError),
    ],
)
def test_an_end_that_is_no_ordinary_exception_is_told(tasks, sent, later, how, error):
    getattr(tasks, f"leave{later}").enqueue(how)
    run_worker()
    assert words(sent)[1:] == [("started", "RUNNING"), ("finished", "FAILED")]
    assert [each.exception_class for each in the_end(sent).errors] == [error]
    assert the_end(sent) == as_stored(the_end(sent))


@BOTH
def test_a_restart_is_no_end(tasks, sent, later, settings):
    settings.TASKS = {"default": {"BACKEND": BACKEND, "QUEUES": [], "OPTIONS": {"retries": 1}}}
    getattr(tasks, f"leave{later}").enqueue("restart")
    get_broker().exchange("default", "nobody", RoundTrip())
    run_worker(until_idle=False)
    assert words(sent)[1:] == [("started", "RUNNING")]


@BOTH
def test_a_result_that_cannot_be_stored_is_no_success(tasks, sent, later):
    getattr(tasks, f"give{later}").enqueue("date")
    run_worker()
    assert words(sent)[1:] == [("started", "RUNNING"), ("finished", "FAILED")]
    assert [each.exception_class for each in the_end(sent).errors] == [TypeError]
    assert the_end(sent) == as_stored(the_end(sent))


class Replacing:
    """A middleware that changes what a task returns."""

    result: Any = "replaced"

    def __init__(self, get_result):
        self.get_result = get_result

    def __call__(self, run):
        self.get_result(run)
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


@pytest.mark.parametrize(("result", "status"), [("replaced", "SUCCESSFUL"), (KeyError("late"), "FAILED")])
def test_the_end_is_what_the_middlewares_make_of_it(tasks, sent, settings, monkeypatch, result, status):
    monkeypatch.setattr(Replacing, "result", result)
    settings.QUEUEOPS = settings.QUEUEOPS | {"MIDDLEWARE": [f"{__name__}.Replacing"]}
    middleware._chain.cache_clear()
    tasks.add.enqueue(1)
    run_worker()
    assert the_end(sent).status == status
    assert the_end(sent) == as_stored(the_end(sent))


def test_a_task_that_is_put_aside_is_told(tasks, sent, redis_client):
    pushed = tasks.add.enqueue(1)
    redis_client.hset(get_broker().keys("default").task(pushed.id), "a", "no arguments")
    run_worker()
    assert words(sent)[1:] == [("finished", "FAILED")]
    assert the_end(sent).errors[0].exception_class is TaskQuarantined


def test_a_waiting_task_that_is_cancelled_is_told_by_who_cancels_it(tasks, sent):
    pushed = [tasks.add.enqueue(number) for number in range(4)]
    assert TaskHandle(pushed[0].id).cancel("not needed")
    control.cancel([result.id for result in pushed[1:3]], "cleared")
    control.cancel([pushed[0].id, "nothing"])
    ended = [result for name, result in sent if name == "finished"]
    assert [result.id for result in ended] == [result.id for result in pushed[:3]]
    assert [result.errors[0].traceback for result in ended] == ["not needed", "cleared", "cleared"]
    assert all(result == tasks.add.get_result(result.id) for result in ended)
    TaskHandle(pushed[3].id).postpone(60)
    assert not [result for name, result in sent if result.id == pushed[3].id and name == "finished"]


def test_other_tasks_that_are_cancelled_and_a_store_that_does_not_answer_harm_nothing(tasks, sent, monkeypatch, caplog):
    from tests.support.tasks_for_tests import add

    assert add.push(1).cancel()
    result = tasks.add.enqueue(1)
    broker, asked = get_broker(), []

    def unreadable(pool: str, task_id: str) -> None:
        asked.append(task_id)
        raise TaskFailed(id=task_id, type="Error", message="the store does not answer")

    monkeypatch.setattr(broker, "record", unreadable)
    assert TaskHandle(result.id).cancel()
    assert asked == [result.id]
    assert "The signal task_finished of the cancelled task" in caplog.text
    assert words(sent) == [("enqueued", "READY")]


@BOTH
@pytest.mark.parametrize("name", ["task_started", "task_finished"])
def test_a_receiver_that_raises_harms_neither_the_task_nor_the_next_receiver(tasks, name, later, caplog):
    told: list[Any] = []

    def broken(**_: Any) -> None:
        raise KeyError("a receiver")

    def next_one(task_result: Any, **_: Any) -> None:
        told.append(task_result.id)

    result = getattr(tasks, f"add{later}").enqueue(1)
    with receiving(name, broken), receiving(name, next_one), caplog.at_level(logging.ERROR, "django.dispatch"):
        run_worker()
    assert told == [result.id]
    assert "KeyError: 'a receiver'" in caplog.text
    result.refresh()
    assert result.return_value == 2


@BOTH
def test_the_frameworks_own_log_tells_of_a_failure_with_its_traceback(tasks, later, caplog):
    with caplog.at_level(logging.INFO):
        getattr(tasks, f"leave{later}").enqueue("exit")
        run_worker()
    (record,) = [each for each in caplog.records if "state=FAILED" in each.message]
    assert record.levelno == logging.ERROR
    assert record.exc_info[0] is SystemExit
