"""Actions on runs of workflows: signal, cancel as an event, suspend and resume.

`ids` are ids of runs, at most 500 a call. The actions answer in their order. `control.cancel` terminates a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from queueops.control.per_pool_calls import GONE, checked, places
from queueops.errors.workflows import InstanceGone, RunEnded
from queueops.kinds.workflows import events
from queueops.kinds.workflows.events import Entry
from queueops.kinds.workflows.execution import check_name
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.model.contracts import Row
from queueops.model.reasons import kept
from queueops.redis.broker import get_role
from queueops.tasks.encoding import encode_result

__all__ = ["cancel_runs", "resume_runs", "signal_runs", "suspend_runs"]


def signal_runs(
    ids: Sequence[str], name: str, value: Any = None, pool: str = "", *, who: str = "", token: str = ""
) -> list[Row]:
    """Send a signal to runs. Raises BadOption for a bad name, and NotEncodable."""
    data = encode_result(check_name(name, "name"), value, "signal")
    return _told(ids, pool, "signal", events.encode(Entry("signal", n=name, r=events.raw(data))), who, token, name)


def cancel_runs(ids: Sequence[str], reason: str = "", pool: str = "", *, who: str = "", token: str = "") -> list[Row]:
    """Ask the code of runs to end: it gets CancelledError, and may clean up."""
    return _told(ids, pool, "cancel", events.encode(Entry("cancel", y=kept(reason))), who, token)


def suspend_runs(ids: Sequence[str], pool: str = "", *, who: str = "", token: str = "") -> list[Row]:
    """Make no further step of runs until they are resumed. Events wait in the inbox."""
    return _told(ids, pool, "suspend", b"", who, token)


def resume_runs(ids: Sequence[str], pool: str = "", *, who: str = "", token: str = "") -> list[Row]:
    """Go on with suspended runs."""
    return _told(ids, pool, "resume", b"", who, token)


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
