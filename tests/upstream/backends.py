"""What Django's tests expect of its dummy and its immediate backend, done by that of QueueOps."""

from __future__ import annotations

from typing import Any

from queueops.contrib.django_tasks import QueueOpsBackend
from queueops.testing import run_worker


class DummyBackend(QueueOpsBackend):
    """Leaves the tasks in the store, and tells what was pushed."""

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        self.pushed: list[str] = []

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> Any:
        """Push the task, and remember its id."""
        result = super().enqueue(task, args, kwargs)
        self.pushed.append(result.id)
        return result

    @property
    def results(self) -> list[Any]:
        """The results as the store has them."""
        return [self.get_result(result_id) for result_id in self.pushed]

    def clear(self) -> None:
        """Forget what was pushed. Each test has a store of its own."""
        self.pushed.clear()


class ImmediateBackend(QueueOpsBackend):
    """Has a worker run each task before the push returns."""

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> Any:
        """Push the task, run it, and read its result."""
        result = super().enqueue(task, args, kwargs)
        run_worker()
        result.refresh()
        return result
