"""QUEUEOPS["EXECUTOR"]: what runs the tasks of a worker, in place of its threads and its event loop."""

from __future__ import annotations

import asyncio
import io
import threading
import time
from contextlib import closing
from importlib import import_module
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import override_settings
from msgspec.structs import replace

from queueops import checks, inspect, task, task_failed, task_retried
from queueops.errors import Shutdown
from queueops.errors.executors import ExecutorUnavailable
from queueops.model.contracts import Outcome, Settlement
from queueops.redis.broker import get_broker
from queueops.tasks import registry
from queueops.tasks.context import Context
from queueops.testing.conformance import ApartExecutorConformance, ExecutorConformance
from queueops.testing.executor_steps import ExecutorSteps
from queueops.worker import heartbeat
from queueops.worker.execution import executor_pause, settlements
from queueops.worker.execution.executor_pause import ExecutorPause
from queueops.worker.execution.task_start import Order, TaskStart
from tests.stores.process_executor import DirectExecutor, ProcessExecutor
from tests.support.waiting import wait_until
from tests.worker.test_loop import Running


def path_of(executor: type) -> str:
    return f"{executor.__module__}.{executor.__qualname__}"


class TestProcessExecutor(ApartExecutorConformance):
    """A process for each task."""

    executor = path_of(ProcessExecutor)

    @pytest.fixture(autouse=True)
    def _settings_of_processes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "tests.stores.executor_settings")


class TestDirectExecutor(ExecutorConformance):
    """The worker's own threads."""

    executor = path_of(DirectExecutor)


class Raising(DirectExecutor):
    """Loses each task."""

    def execute(self, start: TaskStart) -> Settlement:
        raise SystemExit("no process is left")

    def close(self) -> None:
        raise SystemExit("it was closed before")


class Away(DirectExecutor):
    """Its sandbox does not answer, until it is back."""

    is_away = True
    refused = 0

    def execute(self, start: TaskStart) -> Settlement:
        if self.is_away:
            Away.refused += 1
            raise ExecutorUnavailable(reason="the sandbox does not answer")
        return super().execute(start)


class Mixed(DirectExecutor):
    """Gives the settlement of another start."""

    def execute(self, start: TaskStart) -> Settlement:
        return replace(super().execute(start), fence=0)


class Deaf(DirectExecutor):
    """Fails when it hears an order."""

    def execute(self, start: TaskStart) -> Settlement:
        start.obey(Order(reason="before"))

        def listen(order: Order) -> None:
            raise ValueError(order.reason)

        start.listen(listen)
        return super().execute(start)


class Early(DirectExecutor):
    """Its start has orders before it runs."""

    def execute(self, start: TaskStart) -> Settlement:
        start.obey(Order(reason="not needed"))
        start.obey(Order(interrupt="cancel"))
        return super().execute(start)


class Waiting(DirectExecutor):
    """Its close does not return for long."""

    end = threading.Event()

    def close(self) -> None:
        self.end.wait(60)


class Killing(DirectExecutor):
    """Claims to have killed a task that nothing interrupted."""

    def execute(self, start: TaskStart) -> Settlement:
        return start.killed()


class Deadly(DirectExecutor):
    """Kills each task at its time limit."""

    def execute(self, start: TaskStart) -> Settlement:
        start.obey(Order(interrupt="timeout", limit_s=7))
        return start.killed()


class Delayed(DirectExecutor):
    """An order comes while the ones from before are passed on."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def execute(self, start: TaskStart) -> Settlement:
        later = threading.Thread(target=start.obey, args=(Order(reason="later"),))

        def listen(order: Order) -> None:
            if order.reason == "first":
                later.start()
                later.join(0.3)
            self.heard.append(order.reason)

        for reason in ("first", "second"):
            start.obey(Order(reason=reason))
        start.listen(listen)
        later.join()
        start.channel.log(start.lease, " ".join(self.heard))
        return super().execute(start)


class Halved:
    """Cannot be closed."""

    def execute(self, start: TaskStart) -> Settlement:
        return start.run()


def test_a_faulty_executor_loses_no_task(caplog: pytest.LogCaptureFixture) -> None:
    """Its task has crashed, and says why. The thread of the worker goes on."""
    tasks = import_module("queueops.testing.executor_tasks.tasks")
    crashes = {
        Raising: b"its executor lost it: SystemExit: no process is left",
        Killing: b"its executor lost it: RuntimeError: killed() needs an interrupt before it",
        Mixed: b"its executor lost it: TypeError: execute() returned Settlement(id=",
    }
    for executor, said in crashes.items():
        with tasks.registered(), closing(ExecutorSteps(path_of(executor))) as steps:
            for settlement in (steps.run(tasks.double, 1), steps.run(tasks.double, 2)):
                assert settlement.outcome is Outcome.CRASH
                assert settlement.value.startswith(said)
    assert "The executor could not be closed" in caplog.text
    with tasks.registered(), closing(ExecutorSteps(path_of(Deaf))) as steps:
        assert steps.run(tasks.double, 1).value == b"2"
    assert "An order for t1 could not be passed on" in caplog.text


@pytest.mark.usefixtures("namespace")
def test_an_executor_that_is_away_fails_no_task_and_claims_few(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A worker whose sandbox is away would otherwise turn a whole queue into failed tasks, within seconds."""
    for name, seconds in (("FIRST_S", 0.02), ("LONGEST_S", 0.2), ("PROBE_S", 0.05)):
        monkeypatch.setattr(executor_pause, name, seconds)
    monkeypatch.setattr(settlements, "NOT_BEGUN_DELAY_MS", 100)
    monkeypatch.setattr(heartbeat, "EVERY", 0.05)
    monkeypatch.setattr(Away, "is_away", True)
    tasks, broker = import_module("queueops.testing.executor_tasks.tasks"), get_broker()
    with tasks.registered():
        handles = [tasks.double.push(number) for number in range(30)]
        worker = Running(executor=path_of(Away))
        try:
            (alarm,) = wait_until(lambda: [each for each in inspect.snapshot().alarms if "executor" in each.key])
            assert alarm.text.startswith("Pool default: 1 worker begins no tasks (")
            assert alarm.text.endswith(" its executor is not available: the sandbox does not answer")
            (row,) = inspect.workers()
            assert ("executor", "not available: the sandbox does not answer") in row.facts
            records = [broker.record("default", handle.id) for handle in handles]
            assert {record.state for record in records} <= {"pending", "postponed", "locked"}
            assert all(record.state == "pending" for record in records[20:])
            waits = inspect.why(handles[-1].id)
            assert "the executor is not available: the sandbox does not answer" in " ".join(each.text for each in waits)
            Away.is_away = False
            assert [handle.result(timeout=60) for handle in handles] == [2 * number for number in range(30)]
        finally:
            worker.end()
    record = broker.record("default", handles[0].id)
    assert (record.attempt, record.crashes) == (0, 0)
    lines = [moment.text for moment in inspect.task(handles[0].id).timeline]
    assert "its executor could not begin it: the sandbox does not answer" in lines
    assert "The executor is available again after" in caplog.text


@pytest.mark.usefixtures("namespace")
def test_an_executor_that_is_away_for_a_moment_costs_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the small tasks that a process has fetched ahead fail one after the other, each with a longer pause."""
    monkeypatch.setattr(Away, "is_away", False)
    tasks = import_module("queueops.testing.executor_tasks.tasks")
    with tasks.registered():
        handles = [tasks.double.push(number) for number in range(600)]
        worker = Running(executor=path_of(Away))
        pause = worker.loop._executor.pause
        try:
            wait_until(lambda: worker.loop._executor.queued() > 5)
            monkeypatch.setattr(Away, "refused", 0)
            monkeypatch.setattr(Away, "is_away", True)
            wait_until(lambda: Away.refused)
            wait_until(lambda: not worker.loop._executor.queued())
            monkeypatch.setattr(Away, "is_away", False)
            assert (Away.refused, pause.until - pause._failed_at) <= (2, 2 * executor_pause.FIRST_S)
            assert [handle.result(timeout=60) for handle in handles] == [2 * number for number in range(600)]
        finally:
            worker.end()


def test_a_pause_ends_with_a_start_that_is_younger_than_its_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long task that ends meanwhile says nothing. A failure for hours has no end of its pauses. An alarm has one."""
    pause = ExecutorPause()
    long_ago = time.monotonic()
    for _ in range(1100):
        pause.failed(time.monotonic() + 0.001, "away")
    now = time.monotonic()
    assert pause.until > now + executor_pause.LONGEST_S - 1
    assert pause.failed_until > now
    pause.worked(long_ago)
    assert (pause.failures, pause.room(), pause.told()) == (1100, 0, "away")
    later = now + executor_pause.TOLD_S
    with monkeypatch.context() as patched:  # nothing failed meanwhile: no task came, or a long one has begun
        patched.setattr(executor_pause, "_monotonic", lambda: later)
        assert (pause.room(), pause.told()) == (1, "")
    pause.claimed(later)
    assert pause.until > later
    assert pause.failed_until <= later
    pause.worked(time.monotonic() + 1)
    assert (pause.failures, pause.until, pause.failed_until, pause.told()) == (0, 0.0, 0.0, "")


def test_a_task_that_its_executor_killed_has_its_signal() -> None:
    """The process that ran it cannot send one any more."""
    tasks, told = import_module("queueops.testing.executor_tasks.tasks"), []

    def receive(signal: object, context: Context, error: BaseException, **_: object) -> None:
        told.append((signal, context.task.name, str(error)))

    with tasks.registered(), closing(ExecutorSteps(path_of(Deadly))) as steps:
        for signal in (task_failed, task_retried):
            signal.connect(receive)
        try:
            for retries in (0, 1):
                assert steps.run(tasks.double, 1, retries=retries).outcome is Outcome.TIMEOUT
        finally:
            for signal in (task_failed, task_retried):
                signal.disconnect(receive)
    text = "The task ran longer than its timeout of 7 s."
    assert told == [(signal, tasks.double.name, text) for signal in (task_failed, task_retried)]


def test_a_close_that_never_returns_holds_the_process_for_a_moment_only(caplog: pytest.LogCaptureFixture) -> None:
    """Otherwise a worker with --max-tasks would soon have only processes that end, and none that claims."""
    with closing(ExecutorSteps(path_of(Waiting))):
        pass
    assert "The executor was not closed within 2 s" in caplog.text
    Waiting.end.set()


def test_a_call_of_an_interrupted_coroutine_is_left_to_its_thread() -> None:
    """The supervisor would otherwise kill the worker process, with all of its tasks."""
    begun, end, has_ended = threading.Event(), threading.Event(), threading.Event()

    def block() -> None:
        begun.set()
        end.wait(20)
        has_ended.set()

    @task
    async def beside() -> None:
        await asyncio.to_thread(block)

    with closing(ExecutorSteps(path_of(DirectExecutor))) as steps:
        try:
            lease = steps.submit(beside)
            steps.until(begun.is_set)
            assert steps.executor.interrupt(lease, Shutdown)
            assert steps.end(lease).outcome is Outcome.RELEASE
            assert not has_ended.is_set()
        finally:
            end.set()
            registry.unregister("task", beside.name)


def test_orders_keep_their_order() -> None:
    """An interrupt that overtook the request to cancel would lose its reason."""
    tasks = import_module("queueops.testing.executor_tasks.tasks")
    with tasks.registered(), closing(ExecutorSteps(path_of(Delayed))) as steps:
        steps.run(tasks.double, 1)
        assert [text for _, _, text in steps.notes.lines] == ["first second later"]


def test_orders_from_before_the_run_are_obeyed() -> None:
    """A process may take a second until it runs its task."""
    tasks = import_module("queueops.testing.executor_tasks.tasks")
    with tasks.registered(), closing(ExecutorSteps(path_of(Early))) as steps:
        for each in (tasks.double, tasks.double_later):
            settlement = steps.run(each, 1)
            assert (settlement.outcome, settlement.value) == (Outcome.CANCEL, b"not needed")


def test_an_executor_that_cannot_be_used_is_an_error_of_the_check(settings: Any) -> None:
    """The option of a worker says the same of itself."""
    for executor, said in (
        ("tests.stores.process_executor.Missing", "it must be the dotted path of a class that can be imported (Imp"),
        ("tests.stores.process_executor.KILL_AFTER_S", "it must be a class or function that takes no arguments, and"),
        (path_of(Halved), "it must be a class with the methods execute and close; close cannot be called."),
    ):
        with override_settings(QUEUEOPS={**settings.QUEUEOPS, "EXECUTOR": executor}):
            (message,) = [found for found in checks.check_environment() if found.id == "queueops.E014"]
        assert f"QUEUEOPS['EXECUTOR'] is {executor!r}, but {said}" in message.msg
        with pytest.raises(CommandError) as caught:
            call_command("runworker", "--executor", executor, stdout=io.StringIO())
        assert f"--executor is {executor!r}, but {said}" in str(caught.value)
