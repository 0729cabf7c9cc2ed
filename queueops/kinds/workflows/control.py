"""Actions on runs of workflows: signal, cancel as an event, suspend and resume, retry of the failed step, reset.

`ids` are ids of runs, at most 500 a call. The actions answer in their order. `control.cancel` terminates a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from queueops.control.per_pool_calls import GONE, act, checked, places
from queueops.errors import BadOption, advice
from queueops.errors.workflows import InstanceGone, RunEnded
from queueops.kinds.workflows import events
from queueops.kinds.workflows.arguments import check_entry, encode_signal
from queueops.kinds.workflows.events import Entry
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.model.contracts import Row
from queueops.model.ids import check_id
from queueops.model.reasons import kept
from queueops.model.states import State
from queueops.redis.broker import get_role
from queueops.tasks import registry

__all__ = ["cancel_runs", "reset_run", "resume_runs", "retry_runs", "signal_runs", "start_run", "suspend_runs"]

WORKFLOW = "workflow"


def signal_runs(
    ids: Sequence[str], name: str, value: Any = None, pool: str = "", *, who: str = "", token: str = ""
) -> list[Row]:
    """Send a signal to runs. Raises BadOption for a bad name, and NotEncodable."""
    data = encode_signal(name, value)
    entry = Entry("signal", name=name, payload=events.raw(data))
    return _told(ids, pool, "signal", events.encode(entry), who, token, name)


def cancel_runs(ids: Sequence[str], reason: str = "", pool: str = "", *, who: str = "", token: str = "") -> list[Row]:
    """Ask the code of runs to end: it gets CancelledError, and may clean up. A run that has not begun is cancelled."""
    return _told(ids, pool, "cancel", events.encode(Entry("cancel", reason=kept(reason))), who, token, kept(reason))


def suspend_runs(ids: Sequence[str], pool: str = "", *, reason: str = "", who: str = "", token: str = "") -> list[Row]:
    """Make no further step of runs until they are resumed. Events wait in the inbox. Their logs have the reason."""
    return _told(ids, pool, "suspend", b"", who, token, kept(reason))


def resume_runs(ids: Sequence[str], pool: str = "", *, reason: str = "", who: str = "", token: str = "") -> list[Row]:
    """Go on with suspended runs. Their logs have the reason."""
    return _told(ids, pool, "resume", b"", who, token, kept(reason))


def retry_runs(ids: Sequence[str], pool: str = "", *, reason: str = "", who: str = "", token: str = "") -> list[Row]:
    """Make the failed step of runs again. Their logs have the reason.

    A run that has not failed is refused: use `control.retry`.
    """
    wanted, store = checked(ids), get_role(WorkflowCalls)
    answers = {run: Row(run, "GONE", "", GONE) for run in wanted}
    for place, there in places(wanted, pool).items():
        states = store.run_fields([(place, run) for run in there])
        failed = []
        for run in there:
            state = states[place, run].known.get("s", "")
            if state == State.FAILED:
                failed.append(run)
            elif state:
                answers[run] = Row(run, "REFUSED", state, f"only a failed run has a step to retry; it is {state}")
            else:
                answers[run] = Row(run, "GONE", "", "it is not a run of a workflow")
        if failed:
            answers |= {row.id: row for row in act("retry", failed, place, reason=kept(reason), who=who, token=token)}
    return [answers[run] for run in wanted]


def reset_run(id: str, entry: int, reason: str = "", pool: str = "", *, who: str = "", token: str = "") -> Row:
    """Begin a new run of the instance with the history before the step of an entry, numbered from 1.

    The step runs again. Signals behind it come again; calls behind it are cancelled. A run that has not ended is
    cancelled. The detail of the answer is the id of the new run, or the reason of a refusal.
    """
    check_entry(entry)
    (wanted,), store = checked([id]), get_role(WorkflowCalls)
    for place in places([wanted], pool):
        told = kept(reason) or f"reset to entry {entry}"
        answer = store.reset_run(place, wanted, entry, reason=told, who=who, token=token)
        if answer.word == "GONE":
            return Row(id, "GONE", "", "it is not a run of a workflow")
        return Row(id, answer.word, answer.state, answer.run or answer.reason)
    return Row(id, "GONE", "", GONE)


def start_run(
    name: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, *, instance: str = ""
) -> Row:
    """Start a run of a workflow that this process knows. The detail of the answer is the instance.

    Raises BadOption for an unknown name, InstanceInUse, BadArguments, and what a push raises.
    """
    handler: Any = registry.find(WORKFLOW, name)
    if handler is None:
        known = sorted(name for kind, name in registry.handlers() if kind == WORKFLOW)
        raise BadOption(name="name", value=name, expected=f"a workflow of this project{advice(name, known)}")
    workflow = handler.task.using(id=check_id(instance, "id of an instance")) if instance else handler.task
    handle = workflow.start(*args, **(kwargs or {}))
    return Row(handle.id, "OK", "pending", handle.instance)


def _told(ids: Sequence[str], pool: str, what: str, text: bytes, who: str, token: str, name: str = "") -> list[Row]:
    wanted, store = checked(ids), get_role(WorkflowCalls)
    answers = {run: Row(run, "GONE", "", GONE) for run in wanted}
    for place, there in places(wanted, pool).items():
        for run in there:
            answers[run] = _tell(store, place, run, what, text, who, token, name)
    return [answers[run] for run in wanted]


def _tell(store: WorkflowCalls, pool: str, run: str, what: str, text: bytes, who: str, token: str, name: str) -> Row:
    try:
        _, state = store.tell_run(pool, what, text, run=run, who=who, name=name, token=token)
    except InstanceGone:
        return Row(run, "GONE", "", "it is not a run of a workflow")
    except RunEnded as error:
        return Row(run, "REFUSED", error.state, "the run has ended")
    return Row(run, "OK", state)
