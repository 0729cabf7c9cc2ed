"""Errors of workflows: see ``errors``."""

from __future__ import annotations

from queueops.errors import IdInUse, QueueOpsError, TaskFailed


class BadWorkflow(QueueOpsError, TypeError):
    """{reason}"""

    reason: str


class OutsideWorkflow(QueueOpsError, RuntimeError):
    """{what} works only in the code of a workflow, while a worker runs it. {advice}"""

    what: str
    advice: str


class BlockedStep(QueueOpsError):
    """A decision step of a workflow could not be made. The run is blocked, and tried again later."""


class RefusedInWorkflow(BlockedStep, RuntimeError):
    """{what} cannot be used in the code of a workflow, because its code is replayed. {advice}"""

    what: str
    advice: str


class NotDeterministic(BlockedStep, RuntimeError):
    """The code of the workflow {name} did not do in step {step} what its history says. Recorded: {recorded}.
    Done now: {done}. Use wf.patched() for a change of the code, or deploy the earlier code again.
    """

    name: str
    step: int
    recorded: str
    done: str


class WorkflowStuck(BlockedStep, RuntimeError):
    """The workflow {name} waits for something that nothing will end: no call, timer, child or signal is open.
    It waits at {where}.
    """

    name: str
    where: str


class EventLoopBlocked(QueueOpsError, RuntimeError):
    """An activity did not begin within {seconds:g} seconds: the thread of sync_to_async runs another call, which may
    wait for the event loop of this test. That loop stands still while the environment runs.
    Use await sync_to_async(env.run)(...), or await the other call before.
    """

    seconds: float


class PayloadLost(BlockedStep, LookupError):
    """The payload {field} of an event is gone from the store. Reset the run to a step before that event."""

    field: str


class HistoryTooLong(BlockedStep, RuntimeError):
    """The history of the run {id} has {size} commands and signals; the limit is {limit}. Use wf.continue_as_new()."""

    id: str
    size: int
    limit: int


class StepTooLarge(BlockedStep, RuntimeError):
    """A step of the run {id} has {commands} commands; the limit is {limit}. Await some before others begin."""

    id: str
    commands: int
    limit: int


class ActivityFailed(TaskFailed):
    """The activity {name} ({id}) failed: {type}: {message}"""

    name: str


class ChildFailed(TaskFailed):
    """The child workflow {name} ({id}) failed: {type}: {message}"""

    name: str


class ChildInUse(ChildFailed):
    """The child workflow {name} did not begin: {message}"""


class InstanceInUse(IdInUse):
    """The workflow instance {id!r} has a run that has not ended: {run}. Use another id, or end that run."""

    id: str
    run: str


class InstanceGone(QueueOpsError, LookupError):
    """There is no run of the workflow instance {id!r}."""

    id: str


class RunEnded(QueueOpsError):
    """The run {id} has ended: it is {state}. It takes no {what} any more."""

    id: str
    state: str
    what: str


class ResetRefused(QueueOpsError):
    """The run {id} cannot be reset: {reason}."""

    id: str
    reason: str


class BadHistoryFile(QueueOpsError, ValueError):
    """The file {path} is not an exported run: {reason}. Write it with: manage.py queue run ID --export"""

    path: str
    reason: str
