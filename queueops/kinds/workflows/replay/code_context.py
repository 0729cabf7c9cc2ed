"""Task context in the code of a workflow: `current()` has the facts of the run, and refuses what acts on a task.

The code runs in many steps, and again in each replay. A log line, a progress or a restart would be lost or repeated.
"""

from __future__ import annotations

from datetime import timedelta
from typing import NoReturn

from queueops.kinds.workflows.replay.refused_io import refuse
from queueops.model.contracts import Lease
from queueops.tasks import context

STATUS = "Use wf.set_status(), Python's logging, or an activity."
ENDING = "Use wf.sleep() and wf.continue_as_new(), or return."
LIMIT = "The time limit of a step is the option timeout of the workflow."


class RunContext(context.Context):
    """What the code of a workflow gets by `current()`."""

    __slots__ = ()

    def restart(self, delay: float | timedelta = 0, count_attempt: bool = False) -> NoReturn:
        """Refused: it would repeat the step, and leave no entry in the history."""
        refuse("current().restart()", ENDING)

    def cancel(self, reason: str = "") -> NoReturn:
        """Refused: it would leave no entry in the history."""
        refuse("current().cancel()", ENDING)


class _Refusing:
    """Channel that refuses each message."""

    def progress(self, lease: Lease, done: float, total: float | None) -> None:
        """Refused: `wf.set_status` shows a value."""
        refuse("current().progress()", STATUS)

    def log(self, lease: Lease, text: str) -> None:
        """Refused: a line would be written again in each replay."""
        refuse("current().log()", STATUS)

    def extend(self, lease: Lease, seconds: float) -> None:
        """Refused: the limit is that of one step."""
        refuse("A time limit of current()", LIMIT)

    set_deadline = extend


def enter() -> None:
    """Give the code that runs in this task of asyncio its own context, in the place of that of the worker's task."""
    found = context.running()
    if found is not None and not isinstance(found, RunContext):
        context.enter(RunContext(found.lease, found.handler, _Refusing()))
