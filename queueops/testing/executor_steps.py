"""Steps of the conformance tests of executors: a worker's executor without a store. As a program it runs one task."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib import import_module
from itertools import count
from typing import Any

from queueops.model.contracts import Lease, Settlement
from queueops.tasks import registry
from queueops.tasks.encoding import encode_arguments
from queueops.worker.execution.task_start import executor_class
from queueops.worker.execution.thread_executor import ThreadExecutor
from queueops.worker.execution.time_limits import TimeLimits
from queueops.worker.shared_slot_table import SlotTable

THREADS = 2
PATIENCE_S = 60.0


class Notes:
    """A channel that keeps what it gets."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, Any]] = []

    def progress(self, lease: Lease, done: float, total: float | None) -> None:
        """Keep the progress."""
        self.lines.append((lease.id, "progress", (done, total)))

    def log(self, lease: Lease, text: str) -> None:
        """Keep a line."""
        self.lines.append((lease.id, "log", text))

    def extend(self, lease: Lease, seconds: float) -> None:
        """Keep a change of the time limit."""
        self.lines.append((lease.id, "extend", seconds))

    def set_deadline(self, lease: Lease, seconds: float) -> None:
        """Keep a time limit."""
        self.lines.append((lease.id, "set_deadline", seconds))


class ExecutorSteps:
    """The part of a worker process that runs tasks."""

    def __init__(self, path: str) -> None:
        self.notes = Notes()
        self.table = SlotTable(2 * THREADS)
        own = executor_class(path)()
        self.executor = ThreadExecutor(THREADS, self.table, self.notes, lambda: None, lambda: None, own)
        self._limits = TimeLimits(self.executor, lambda: PATIENCE_S * 1000)
        self._numbers = count(1)

    def submit(self, task: Any, *args: Any, **fields: Any) -> Lease:
        """Begin a task."""
        number = next(self._numbers)
        data = encode_arguments(task.name, args, {})
        own: dict[str, Any] = {"retries": task.options.retries or 0, "attempt": 1, "pool": "default", "lane": "default"}
        lease = Lease(id=f"t{number}", fence=number, name=task.name, kind="task", args=data, **own | fields)
        self.executor.submit([lease])
        return lease

    def end(self, lease: Lease) -> Settlement:
        """Wait for the end of a task."""

        def found() -> list[Settlement]:
            return [settlement for done, settlement, _ in self.executor.done if done is lease]

        settlement: Settlement = self.until(found)[0]
        return settlement

    def run(self, task: Any, *args: Any, **fields: Any) -> Settlement:
        """Run a task."""
        return self.end(self.submit(task, *args, **fields))

    def until(self, found: Callable[[], Any]) -> Any:
        """What ``found`` returns as soon as it is true, while time limits are watched as in a worker."""
        end = time.monotonic() + PATIENCE_S
        while not (value := found()):
            if time.monotonic() > end:
                raise AssertionError(f"not so within {PATIENCE_S:g} s")
            self._limits.look(time.monotonic())
            time.sleep(0.01)
        return value

    def close(self) -> bool:
        """End as a worker process does; False if a task still runs."""
        is_closed = self.executor.close(1.0)
        if is_closed:
            self.table.close()
        return is_closed


def main() -> None:
    """Run one task of a worker process that a test then kills."""
    import django

    django.setup()
    import_module("queueops.testing.executor_tasks.tasks")
    path, name, argument = sys.argv[1:]
    handler: Any = registry.get("task", name)
    ExecutorSteps(path).run(handler.task, argument)


if __name__ == "__main__":
    main()
