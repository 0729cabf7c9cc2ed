"""Test environment of workflows: runs them in memory, without a store, and without waiting.

Time jumps to the next timer. Activities run here, or are replaced by `mock`. `simulation.py` makes their steps.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from queueops.errors import BadOption
from queueops.kinds.workflows.definition import Workflow, WorkflowHandler
from queueops.kinds.workflows.events import Entry
from queueops.kinds.workflows.testing.attempts import TASK
from queueops.kinds.workflows.testing.environment_run import EnvironmentRun
from queueops.kinds.workflows.testing.memory_run import MemoryRun
from queueops.kinds.workflows.testing.simulation import Mock, Simulation
from queueops.model.contracts import Conflict
from queueops.model.durations import to_ms
from queueops.tasks.task import Task

_START = datetime(2026, 1, 1, tzinfo=UTC)


class WorkflowEnvironment(Simulation):
    """Runs workflows in memory. Not thread-safe; each test makes its own."""

    def __init__(self, *, start: datetime = _START) -> None:
        super().__init__(round(start.timestamp() * 1000))

    @property
    def now(self) -> datetime:
        """The time of this environment."""
        return datetime.fromtimestamp(self.now_ms / 1000, UTC)

    @property
    def not_begun(self) -> list[EnvironmentRun]:
        """The abandoned children whose instance was in use: cancelled, with that reason, as in the store."""
        return [EnvironmentRun(self, run.instance, run.id) for run in self._refused]

    def mock(self, activity: Any, function: Callable[..., Any], *, takes: float = 0) -> None:
        """Run this function in the place of an activity or of a child workflow; each attempt takes so many seconds.

        Raises BadOption.
        """
        if not isinstance(activity, Task):
            raise BadOption(name="activity", value=activity, expected="a function below @activity, @task or @workflow")
        kind = WorkflowHandler.kind if isinstance(activity, Workflow) else TASK
        self._mocks[kind, activity.name] = Mock(function, to_ms("takes", takes) if takes else 0)

    def at(self, delay: float | timedelta, action: Callable[[], object]) -> None:
        """Do something after so many seconds of the environment's time."""
        self._schedule(self.now_ms + to_ms("delay", delay), action)

    def run(self, workflow: Workflow[Any, Any], /, *args: Any, **kwargs: Any) -> Any:
        """Run a workflow to its end, and return its result."""
        return self.start(workflow, *args, **kwargs).result()

    def start(self, workflow: Workflow[Any, Any], /, *args: Any, **kwargs: Any) -> EnvironmentRun:
        """Start a workflow; `result()` of what this returns lets it run. Raises InstanceInUse and BadOption.

        With `using(on_conflict="ignore")` the open run of the instance is returned.
        """
        if not isinstance(workflow, Workflow):
            raise BadOption(name="workflow", value=workflow, expected="a function below @workflow")
        push, instance = workflow.as_child(args, kwargs)
        known = self._newest(instance)
        if known is not None and known.state == "running" and workflow.options.on_conflict is Conflict.IGNORE:
            return EnvironmentRun(self, instance, known.id)
        run = self._begin(push, instance or f"run-{next(self._numbers)}")
        return EnvironmentRun(self, run.instance, run.id)

    def advance(self, delay: float | timedelta) -> None:
        """Let so much time pass, and everything run that is due in it."""
        until = self.now_ms + to_ms("delay", delay)
        self._settle()
        while self._agenda and self._agenda[0][0] <= until:
            self._jump()
        self.now_ms = until

    def newest(self, instance: str) -> MemoryRun:
        """The newest run of an instance."""
        return self._runs[self._instances[instance]]

    def post(self, instance: str, entry: Entry) -> bool:
        """Put an event into the inbox of an instance; False if its run has ended."""
        return self._post(self._newest(instance), entry)

    def terminate(self, instance: str, reason: str = "") -> bool:
        """End the newest run of an instance. False if it has ended."""
        return self._terminate(self.newest(instance), reason)

    def result_of(self, instance: str, timeout: float | timedelta | None = None) -> Any:
        """Let everything run until this instance has ended; see `EnvironmentRun.result`."""
        return self._result(self._instances[instance], timeout)
