"""The result of a Django task, as its producer and the running task see it."""

from __future__ import annotations

import datetime as dt
from importlib import import_module
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from queueops import testing
from queueops.contrib.django_library import library
from queueops.contrib.django_tasks import HardTimeout, TaskQuarantined, WorkerLost
from queueops.control import tasks as control
from queueops.errors import NotEncodable, TaskCancelled, TaskFailed
from queueops.model.contracts import Outcome, RoundTrip, Settlement
from queueops.model.states import State
from queueops.redis.broker import get_broker
from queueops.results.handle import TaskHandle
from queueops.testing import run_worker
from queueops.worker.execution.failure import plain

BACKEND = "queueops.contrib.django_tasks.QueueOpsBackend"


@pytest.fixture
def tasks(namespace, settings):
    settings.TASKS = {"default": {"BACKEND": BACKEND, "QUEUES": [], "OPTIONS": {"retries": 2}}}
    return import_module("tests.support.django_tasks_for_tests")


def run_all(result: Any) -> Any:
    """Run the task with all its attempts; its result then."""
    run_worker()
    while TaskHandle(result.id).run_now():
        run_worker()
    result.refresh()
    return result


def claim(worker: str, pool: str = "default") -> Any:
    (lease,) = get_broker().exchange(pool, worker, RoundTrip(want=1)).leases
    return lease


def crash(worker: str) -> None:
    """What a supervisor reports after its worker process died."""
    lease = claim(worker)
    end = Settlement(lease.id, lease.fence, Outcome.CRASH, b"killed by signal 9")
    assert get_broker().recover("default", worker, {lease.id: end}) == 1


def kill_at_hard_limit(worker: str, lease: Any) -> None:
    """What a supervisor reports after it killed a process because a task exceeded its hard limit."""
    failure = plain("HardTimeout", "The task did not stop within 2.0 s, so its process was killed.")
    end = Settlement(lease.id, lease.fence, Outcome.TIMEOUT, failure.encoded(), delay_ms=-1)
    assert get_broker().recover("default", worker, {lease.id: end}) == 1


def test_a_start_that_was_killed_at_its_hard_limit_has_an_error_with_a_class(tasks):
    result = tasks.add.enqueue(1)
    kill_at_hard_limit("w1", claim("w1"))
    result.refresh()
    assert (result.status, result.attempts, result.worker_ids) == ("FAILED", 1, ["w1"])
    (error,) = result.errors
    assert error.exception_class is HardTimeout
    assert "did not stop within 2.0 s" in error.traceback


def test_a_cancelled_start_that_was_killed_is_no_failed_attempt(tasks):
    """As for one that raises after its cancel."""
    result = tasks.add.enqueue(1)
    lease = claim("w1")
    assert TaskHandle(result.id).cancel("not needed", hard=True)
    kill_at_hard_limit("w1", lease)
    result.refresh()
    assert (result.status, result.attempts, result.worker_ids) == ("FAILED", 1, ["w1"])
    assert [error.exception_class for error in result.errors] == [TaskCancelled]


def test_a_result_that_is_read_equals_the_one_that_was_pushed(tasks):
    after = timezone.now() + dt.timedelta(hours=1)
    for task in (tasks.add, tasks.add.using(priority=5, queue_name="mail"), tasks.add.using(run_after=after)):
        result = task.enqueue(1)
        assert result == task.get_backend().get_result(result.id)


@pytest.mark.parametrize("name", ["add", "add_later"])
def test_all_times_are_those_of_the_stores_clock(tasks, name, redis_client):
    def server_now() -> dt.datetime:
        seconds, microseconds = redis_client.time()
        return dt.datetime.fromtimestamp(seconds + microseconds // 1000 / 1000, dt.UTC)

    before = server_now()
    result = getattr(tasks, name).enqueue(1)
    pushed_at = result.enqueued_at
    assert before <= pushed_at <= server_now()
    run_worker()
    result.refresh()
    assert result.enqueued_at == pushed_at <= result.started_at <= result.finished_at <= server_now()


def test_the_push_itself_tells_its_time(tasks, monkeypatch):
    def unreadable(pool: str, task_id: str) -> None:
        raise AssertionError("the store is asked once more")

    monkeypatch.setattr(get_broker(), "record", unreadable)
    assert tasks.add.enqueue(1).enqueued_at is not None
    assert tasks.add.enqueue(2).enqueued_at is not None, "in a lane that is in the round already"
    assert tasks.add.using(run_after=timezone.now() + dt.timedelta(hours=1)).enqueue(3).enqueued_at is not None


def test_a_push_whose_answer_was_lost_has_its_time_too(tasks, monkeypatch):
    broker = get_broker()
    push = broker.push

    def push_twice(pushes, **options):
        push(pushes, **options)
        return push(pushes, **options)

    monkeypatch.setattr(broker, "push", push_twice)
    result = tasks.add.enqueue(1)
    assert result.enqueued_at is not None
    assert result == tasks.add.get_result(result.id)


def test_a_running_task_sees_its_result_as_it_is_stored(tasks):
    result = tasks.describe.enqueue()
    run_worker()
    result.refresh()
    seen = result.return_value
    assert (seen["status"], seen["attempt"], seen["errors"]) == ("RUNNING", 1, [])
    assert seen["enqueued_at"] == result.enqueued_at.isoformat()
    assert seen["started_at"] == result.started_at.isoformat()
    assert seen["worker_ids"] == result.worker_ids == [get_broker().record("default", result.id).worker]


def test_a_postponed_task_sees_when_it_was_pushed(tasks):
    result = tasks.describe.using(run_after=timezone.now() + dt.timedelta(hours=1)).enqueue()
    TaskHandle(result.id).run_now()
    run_worker()
    result.refresh()
    assert result.return_value["enqueued_at"] == result.enqueued_at.isoformat()


def test_the_errors_and_workers_of_all_attempts_are_kept(tasks):
    result = run_all(tasks.fail_until.enqueue(3))
    assert (result.status, result.attempts) == ("SUCCESSFUL", 3)
    assert [error.exception_class for error in result.errors] == [KeyError, IndexError]
    assert "attempt 1" in result.errors[0].traceback
    assert "attempt 2" in result.errors[1].traceback
    assert len(set(result.worker_ids)) == 3, "each call of run_worker is a worker of its own"
    seen = result.return_value
    assert (seen["attempt"], seen["worker_ids"]) == (3, result.worker_ids)
    assert seen["errors"] == ["builtins.KeyError", "builtins.IndexError"]
    assert seen["started_at"] == result.started_at.isoformat()
    assert result.started_at < result.last_attempted_at


def test_a_task_that_fails_has_the_error_of_each_attempt(tasks):
    result = run_all(tasks.fail.using(queue_name="default").enqueue())
    assert (result.status, result.attempts, len(result.errors)) == ("FAILED", 3, 3)
    assert result.finished_at is not None


@pytest.mark.parametrize("name", ["leave", "leave_later"])
def test_a_task_that_decides_about_its_attempts_has_the_errors_that_it_gave(tasks, name):
    later = run_all(getattr(tasks, name).enqueue("later"))
    assert (later.status, [error.exception_class for error in later.errors]) == ("FAILED", [KeyError] * 3)
    permanent = run_all(getattr(tasks, name).enqueue("permanent"))
    assert (permanent.status, permanent.attempts) == ("FAILED", 1)
    assert [error.exception_class for error in permanent.errors] == [KeyError]
    assert 'raise Permanent(KeyError("closed"))' in permanent.errors[0].traceback


def test_a_start_that_lost_its_worker_is_an_attempt(tasks):
    result = tasks.fail_until.enqueue(2)
    crash("w1")
    result.refresh()
    assert (result.status, result.attempts, result.worker_ids) == ("READY", 1, ["w1"])
    assert result.errors[0].exception_class is WorkerLost
    assert result.errors[0].traceback == "killed by signal 9"
    run_all(result)
    assert (result.status, result.attempts, result.return_value["attempt"]) == ("SUCCESSFUL", 2, 2)
    assert result.return_value["worker_ids"] == result.worker_ids


def test_a_crash_that_another_task_is_blamed_for_is_no_attempt(tasks):
    result = tasks.add.enqueue(1)
    lease = claim("w1")
    end = Settlement(lease.id, lease.fence, Outcome.CRASH, b"killed by signal 9", -1)
    get_broker().recover("default", "w1", {lease.id: end})
    result.refresh()
    assert (result.attempts, result.errors) == (0, [])


def test_a_task_that_lost_its_workers_too_often_failed_with_their_errors(tasks):
    result = tasks.add.enqueue(1)
    for number in range(3):
        TaskHandle(result.id).run_now()
        crash(f"w{number}")
    result.refresh()
    assert (result.status, result.attempts) == ("FAILED", 3)
    assert [error.exception_class for error in result.errors] == [WorkerLost] * 3


def test_attempts_whose_lines_have_left_the_log_still_count(tasks, redis_client):
    result = run_all(tasks.fail.using(queue_name="default").enqueue())
    redis_client.ltrim(get_broker().keys("default").log(result.id), -1, -1)
    result.refresh()
    assert (result.attempts, result.worker_ids[:2], len(result.errors)) == (3, ["", ""], 1)
    redis_client.delete(get_broker().keys("default").log(result.id))
    result.refresh()
    assert (result.attempts, [error.exception_class for error in result.errors]) == (3, [KeyError])


def test_what_is_no_log_hides_no_result(tasks, redis_client):
    result = run_all(tasks.fail.using(queue_name="default").enqueue())
    key = get_broker().keys("default").log(result.id)
    for line in (b"no JSON", b"[1]", b'{"k": "error", "error": "no error", "begun": "soon"}', b'{"k": "crash"}'):
        redis_client.rpush(key, line)
    result.refresh()
    assert (result.status, result.errors[3].exception_class) == ("FAILED", TaskFailed)
    redis_client.set(key, "no list")
    result.refresh()
    assert (result.status, len(result.errors)) == ("FAILED", 1)


def test_an_operators_retry_begins_a_new_count(tasks):
    result = run_all(tasks.fail_until.enqueue(99))
    assert (result.status, result.attempts) == ("FAILED", 3)
    assert TaskHandle(result.id).retry()
    result.refresh()
    assert (result.status, result.attempts, result.errors) == ("READY", 0, [])
    run_worker()
    result.refresh()
    assert (result.attempts, [error.exception_class for error in result.errors]) == (1, [KeyError])
    assert TaskHandle(result.id).retry(), "of one that backs off"
    result.refresh()
    assert (result.attempts, len(result.errors)) == (1, 1)


def test_restarts_count_as_attempts_only_when_they_say_so(tasks):
    result = run_all(tasks.leave.enqueue("restart"))
    assert (result.status, result.attempts, len(result.worker_ids)) == ("FAILED", 3, 3)
    assert "" not in result.worker_ids
    assert [error.exception_class for error in result.errors] == [TaskFailed]
    assert result.errors[0].traceback == "restarted itself more often than its retries allow"


@pytest.mark.parametrize("name", ["leave", "leave_later"])
def test_a_running_task_that_is_cancelled_has_failed(tasks, name):
    result = run_all(getattr(tasks, name).enqueue("cancel"))
    assert (result.status, result.attempts) == ("FAILED", 1)
    assert [error.exception_class for error in result.errors] == [TaskCancelled]
    assert result.errors[0].traceback == "not needed any more"


def test_a_quarantined_task_has_failed_until_an_operator_takes_it_back(tasks, redis_client):
    result = tasks.add.enqueue(1)
    key = get_broker().keys("default").task(result.id)
    redis_client.hset(key, "a", "no arguments")
    run_worker()
    assert TaskHandle(result.id).state is State.QUARANTINED
    result.refresh()
    assert (result.status, result.is_finished) == ("FAILED", True)
    assert result.errors[0].exception_class is TaskQuarantined
    assert "arguments" in result.errors[0].traceback
    redis_client.hset(key, "a", "[[1],{}]")
    control.requeue([result.id])
    assert run_all(result).return_value == 2


@pytest.mark.parametrize("moment", [timezone.now() + dt.timedelta(hours=1), timezone.now() - dt.timedelta(hours=1)])
def test_when_a_task_was_to_run_is_known_while_it_runs_and_after(tasks, moment):
    result = tasks.describe.using(run_after=moment).enqueue()
    TaskHandle(result.id).run_now()
    run_worker()
    found = tasks.describe.get_result(result.id)
    assert found.task == result.task
    assert found.task.run_after == moment
    assert found.return_value["run_after"] == moment.isoformat()


def test_a_time_that_something_else_wrote_is_no_time(tasks, redis_client):
    result = tasks.add.using(run_after=timezone.now() + dt.timedelta(hours=1)).enqueue(1)
    redis_client.hset(get_broker().keys("default").task(result.id), "ra", "soon")
    assert tasks.add.get_result(result.id).task.run_after is None


def test_times_are_naive_and_local_where_time_zones_are_off(tasks, settings):
    settings.USE_TZ, settings.TIME_ZONE = False, "Pacific/Auckland"
    due = dt.datetime.now(ZoneInfo("Pacific/Auckland")).replace(tzinfo=None) + dt.timedelta(hours=1)
    result = tasks.describe.using(run_after=due).enqueue()
    record = get_broker().record("default", result.id)
    assert record.due == int(due.replace(tzinfo=ZoneInfo("Pacific/Auckland")).timestamp() * 1000)
    assert result == tasks.describe.get_result(result.id)
    TaskHandle(result.id).run_now()
    run_worker()
    result = tasks.describe.get_result(result.id)
    for moment in (result.enqueued_at, result.started_at, result.finished_at, result.last_attempted_at):
        assert timezone.is_naive(moment)
        assert abs(moment + dt.timedelta(hours=1) - due) < dt.timedelta(minutes=10)
    assert result.task.run_after == due
    assert dt.datetime.fromisoformat(result.return_value["enqueued_at"]) == result.enqueued_at


def test_a_time_span_is_from_now_where_time_zones_are_off(tasks, settings):
    settings.USE_TZ = False
    result = tasks.add.using(run_after=dt.timedelta(hours=1)).enqueue(1)
    due = tasks.add.get_result(result.id).task.run_after
    assert abs(due - timezone.now() - dt.timedelta(hours=1)) < dt.timedelta(minutes=10)


@pytest.mark.parametrize("name", ["give", "give_later"])
@pytest.mark.parametrize(
    ("kind", "error", "text"),
    [
        ("date", TypeError, "Unsupported type: <class 'datetime.date'>"),
        ("function", TypeError, "Unsupported type"),
        ("deep", RecursionError, "recursion"),
        ("nan", NotEncodable, "float (nan)"),
    ],
)
def test_a_result_that_is_not_json_fails_the_task_without_another_attempt(tasks, name, kind, error, text):
    result = run_all(getattr(tasks, name).enqueue(kind))
    assert (result.status, result.attempts, result._return_value) == ("FAILED", 1, None)
    assert result.errors[0].exception_class is error
    assert text in result.errors[0].traceback


def test_a_result_comes_as_json_gives_it_back(tasks):
    assert run_all(tasks.give.enqueue("tuple")).return_value == [1, 2]


def test_an_eager_task_tells_its_attempts(tasks):
    with testing.eager():
        result = tasks.fail_until.enqueue(3)
        assert (result.status, result.attempts) == ("READY", 0)
        result.refresh()
    assert (result.status, result.attempts) == ("SUCCESSFUL", 3)
    assert [error.exception_class for error in result.errors] == [KeyError, IndexError]
    assert result.worker_ids == ["eager"] * 3
    assert result.enqueued_at <= result.started_at <= result.finished_at


def test_the_result_of_a_task_whose_queue_is_no_more_allowed_is_found_and_run(tasks, settings):
    result = tasks.describe.using(queue_name="old").enqueue()
    settings.TASKS = {"default": {"BACKEND": BACKEND, "QUEUES": ["default", "mail"]}}
    run_worker()
    assert tasks.describe.get_result(result.id).return_value["queue"] == "old"
    with pytest.raises(library("exceptions").TaskResultDoesNotExist):
        tasks.describe.get_result("nothing")
