"""Handle of a run in the test environment: the methods of `WorkflowHandle`, which never wait."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, NoReturn

import msgspec

from queueops.errors import QueueOpsError
from queueops.errors.workflows import RunEnded
from queueops.kinds.workflows import events
from queueops.kinds.workflows.arguments import check_entry, encode_signal
from queueops.kinds.workflows.events import Entry
from queueops.kinds.workflows.testing.memory_run import MemoryRun
from queueops.kinds.workflows.testing.simulation import Simulation
from queueops.model.reasons import kept


class EnvironmentRun:
    """A run of a test: as the handle of a workflow, but it never waits. It means what it went on as, too.

    Without an id, it means the newest run of the instance.
    """

    def __init__(self, environment: Simulation, instance: str, id: str) -> None:
        self._environment = environment
        self.instance = instance
        self.id = id

    def __repr__(self) -> str:
        return f"<EnvironmentRun {self.instance}: {self.state}>"

    @property
    def pool(self) -> str:
        """The pool of the workflow."""
        return self._run.push.pool

    @property
    def state(self) -> str:
        """running, succeeded, failed, cancelled or continued."""
        return self._run.state

    def custom_status(self) -> Any:
        """The value of the last `wf.set_status`."""
        return msgspec.json.decode(self._run.status or b"null")

    async def acustom_status(self) -> Any:
        """The same for async code."""
        return self.custom_status()

    def history(self) -> list[Entry]:
        """The history of the run."""
        return self._run.entries()

    async def ahistory(self) -> list[Entry]:
        """The same for async code."""
        return self.history()

    def signal(self, name: str, value: Any = None) -> None:
        """Send a signal now. Raises RunEnded and NotEncodable."""
        payload = events.raw(encode_signal(name, value))
        if not self._environment._post(self._run, Entry("signal", name=name, payload=payload)):
            raise RunEnded(id=self._run.id, state=self.state, what="signal")

    async def asignal(self, name: str, value: Any = None) -> None:
        """The same for async code."""
        self.signal(name, value)

    def cancel(self, reason: str = "", *, hard: bool = False) -> bool:
        """Ask the code to end; with `hard` it is terminated. False if the run had already ended."""
        if hard:
            return self.terminate(reason)
        return self._environment._post(self._run, Entry("cancel", reason=kept(reason)))

    async def acancel(self, reason: str = "", *, hard: bool = False) -> bool:
        """The same for async code."""
        return self.cancel(reason, hard=hard)

    def terminate(self, reason: str = "") -> bool:
        """End the run now, with all that it has open; its code is not asked. False if it had already ended."""
        return self._environment._terminate(self._run, reason)

    async def aterminate(self, reason: str = "") -> bool:
        """The same for async code."""
        return self.terminate(reason)

    def retry(self, everything: bool = False) -> bool:
        """Make the failed step again; with `everything` begin from nothing. False if its state does not permit it."""
        return self._environment._retry(self._run, everything=everything)

    async def aretry(self, everything: bool = False) -> bool:
        """The same for async code."""
        return self.retry(everything)

    def reset(self, entry: int, reason: str = "") -> EnvironmentRun:
        """Begin a new run with the history before the step of an entry, numbered from 1. Raises ResetRefused."""
        new = self._environment._reset(self._run, check_entry(entry), kept(reason) or f"reset to entry {entry}")
        return EnvironmentRun(self._environment, self.instance, new.id)

    async def areset(self, entry: int, reason: str = "") -> EnvironmentRun:
        """The same for async code."""
        return self.reset(entry, reason)

    def run_now(self) -> bool:
        """Begin a run now that was started with a delay. False if it has begun."""
        was, self._run.delayed = self._run.delayed, False
        return was

    async def arun_now(self) -> bool:
        """The same for async code."""
        return self.run_now()

    def suspend(self, reason: str = "") -> bool:
        """Make no further step until `resume`; events wait in the inbox. False if the run had already ended."""
        return self._suspended(True)

    async def asuspend(self, reason: str = "") -> bool:
        """The same for async code."""
        return self.suspend(reason)

    def resume(self) -> bool:
        """Go on after `suspend`. False if the run had already ended."""
        return self._suspended(False)

    async def aresume(self) -> bool:
        """The same for async code."""
        return self.resume()

    def result(self, timeout: float | timedelta | None = None) -> Any:
        """Let everything run to the end of this workflow, and return its result.

        `timeout` is in seconds of the environment's time. Raises TaskFailed, TaskCancelled and ResultTimeout. Raises
        WorkflowStuck if it waits for what does not come, and HistoryTooLong at the limit of a history.
        """
        return self._environment._result(self.id, timeout)

    async def aresult(self, timeout: float | timedelta | None = None) -> Any:
        """The same for async code."""
        return self.result(timeout)

    def status(self) -> NoReturn:
        """Refused: a run in memory has no record of a task."""
        raise QueueOpsError("A run of WorkflowEnvironment has no record: use state, custom_status() and history().")

    astatus = status

    def postpone(self, delay: Any) -> NoReturn:
        """Refused: only a run that has not begun could be postponed."""
        raise QueueOpsError("A run of WorkflowEnvironment is not postponed: start it with using(delay=...).")

    apostpone = postpone

    @property
    def progress(self) -> None:
        """A run of a workflow tells no progress; see `custom_status`."""
        return

    def _suspended(self, suspended: bool) -> bool:
        if self.state != "running":
            return False
        self._run.suspended = suspended
        return True

    @property
    def _run(self) -> MemoryRun:
        return self._environment._last(self.id or self._environment._instances[self.instance])
