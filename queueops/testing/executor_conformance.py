"""Conformance of an executor: tests of the promises of `TaskExecutor`. They need pytest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from queueops.errors import Shutdown
from queueops.model.contracts import Lease, Outcome, Settlement
from queueops.testing import executor_steps
from queueops.testing.executor_steps import THREADS, ExecutorSteps


class ExecutorConformance:
    """The tests. A subclass, whose name begins with Test, names the executor."""

    executor: str
    """Its dotted path."""
    steps: ExecutorSteps
    tasks: Any

    @pytest.fixture(autouse=True)
    def _a_worker(self) -> Iterator[None]:
        self.tasks = import_module("queueops.testing.executor_tasks.tasks")  # not before: it registers them
        with self.tasks.registered():
            self.steps = ExecutorSteps(self.executor)
            yield
            assert self.steps.close()

    def test_tasks_of_all_forms_return_their_results(self) -> None:
        """A function, a coroutine, a generator. More tasks than threads end each once."""
        ends = {"double": b"42", "double_later": b"42"}
        for name, value in ends.items():
            self._is_end(self.steps.run(getattr(self.tasks, name), 21), Outcome.SUCCESS, value)
        self._is_end(self.steps.run(self.tasks.count_to, 3), Outcome.SUCCESS, b"[0,1,2]")
        leases = [self.steps.submit(self.tasks.double, number) for number in range(THREADS + 1)]
        assert [self.steps.end(lease).value for lease in leases] == [b"%d" % (2 * n) for n in range(THREADS + 1)]
        assert len(self.steps.executor.done) == len(leases) + len(ends) + 1

    def test_a_task_has_its_context(self) -> None:
        """Its progress, log lines and changes of its time limit arrive before its end."""
        lease = self.steps.submit(self.tasks.tell, attempt=2)
        self._is_end(self.steps.end(lease), Outcome.SUCCESS, json.dumps([lease.id, 2, "default"]).replace(" ", ""))
        told = [(3.0, 9.0), "a line", 60.0]
        assert self.steps.notes.lines == list(zip([lease.id] * 3, ("progress", "log", "extend"), told, strict=True))

    def test_an_error_is_that_of_the_task(self) -> None:
        """With its class and its text; it has a delay as long as retries are left."""
        for attempt, is_retried in ((1, True), (2, False)):
            settlement = self.steps.run(self.tasks.fail, "no stock", attempt=attempt)
            self._is_end(settlement, Outcome.ERROR)
            assert (settlement.title, bool(settlement.fingerprint)) == ("ValueError: no stock", True)
            assert (settlement.delay_ms > 0) is is_retried
        self._is_end(self.steps.run(self.tasks.double, "x"), Outcome.ERROR)

    def test_a_task_hears_that_it_is_cancelled(self, tmp_path: Path) -> None:
        """A function asks for it, a coroutine is cancelled."""
        for task in (self.tasks.ask, self.tasks.sleep):
            lease = self._begun(task, tmp_path / task.name)
            self.steps.executor.cancel(lease, "not needed")
            settlement = self.steps.end(lease)
            expected = (Outcome.SUCCESS, b'"not needed"') if task is self.tasks.ask else (Outcome.CANCEL, b"not needed")
            self._is_end(settlement, *expected)

    def test_a_task_is_interrupted(self, tmp_path: Path) -> None:
        """By its time limit, by a hard cancel, and by the end of the worker."""
        for task in (self.tasks.spin, self.tasks.sleep):
            name = task.name.rpartition(".")[2]
            lease = self._begun(task, tmp_path / f"timeout-{name}")
            slot = self.steps.executor.slot_of(lease)
            assert slot is not None
            slot.set_deadline(lease, 0.01)
            settlement = self.steps.end(lease)
            self._is_end(settlement, Outcome.TIMEOUT)
            assert "The task ran longer than its timeout of" in settlement.title
        lease = self._begun(task, tmp_path / f"cancel-{name}")
        self.steps.executor.cancel(lease, "halt")
        self.steps.executor.end(lease)
        self._is_end(self.steps.end(lease), Outcome.CANCEL, b"halt")
        lease = self._begun(self.tasks.spin, tmp_path / "shutdown")
        assert self.steps.executor.interrupt(lease, Shutdown)
        self._is_end(self.steps.end(lease), Outcome.RELEASE)

    def test_an_interrupt_may_come_before_the_task_has_begun(self, tmp_path: Path) -> None:
        """It is not lost, and does not wait until another task has ended."""
        other = self._begun(self.tasks.spin, tmp_path / "other")
        lease = self.steps.submit(self.tasks.spin, os.devnull)
        self.steps.until(lambda: self.steps.executor.slot_of(lease))
        for each in (lease, other):
            assert self.steps.executor.interrupt(each, Shutdown)
            self._is_end(self.steps.end(each), Outcome.RELEASE)

    def _begun(self, task: Any, path: Path, **fields: Any) -> Lease:
        lease = self.steps.submit(task, str(path), **fields)
        self.steps.until(path.exists)
        return lease

    def _is_end(self, found: Settlement, outcome: Outcome, value: bytes | str | None = None) -> None:
        assert found.outcome is outcome, found
        if value is not None:
            assert found.value == (value.encode() if isinstance(value, str) else value)


class ApartExecutorConformance(ExecutorConformance):
    """The same and more, for an executor that runs its tasks in other processes.

    `queueops.testing.executor_tasks` must be in INSTALLED_APPS of these processes.
    """

    def test_a_task_that_kills_its_process_has_crashed(self) -> None:
        """The other tasks of the worker go on."""
        settlement = self.steps.run(self.tasks.die)
        self._is_end(settlement, Outcome.CRASH)
        assert settlement.value
        self._is_end(self.steps.run(self.tasks.double, 4), Outcome.SUCCESS, b"8")

    def test_a_process_that_cannot_begin_is_no_fault_of_its_task(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Otherwise a broken environment turns a whole queue into failed tasks."""
        monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "settings_that_do_not_exist")
        steps = ExecutorSteps(self.executor)
        settlement = steps.run(self.tasks.double, 4)
        assert settlement.outcome in (Outcome.RESTART, Outcome.SUCCESS), settlement  # it needs no environment, maybe
        assert not settlement.counted
        assert steps.close()

    def test_a_killed_worker_takes_its_tasks_with_it(self, tmp_path: Path) -> None:
        """Otherwise a task would run twice at the same time, because another worker gets it."""
        began = tmp_path / "began"
        command = [sys.executable, "-m", executor_steps.__name__, self.executor, self.tasks.spin.name, str(began)]
        with subprocess.Popen(command) as worker:  # noqa: S603 - this program
            try:
                pid = int(self.steps.until(lambda: began.exists() and began.read_text()))
            finally:
                worker.kill()
        self.steps.until(lambda: not _runs(pid))


def _runs(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False
