"""Details of runs: their states before the last decision step, refused verbs, alarms, and how they are found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from queueops.inspect.alarm import Alarm, manage
from queueops.inspect.detail import TaskDetail
from queueops.inspect.hits import LookUp
from queueops.inspect.kind_details import Finder, KindDetails, OtherId
from queueops.inspect.task_history import Moment
from queueops.kinds.workflows import alarms, refused_verbs
from queueops.model.sentences import marked, say
from queueops.model.states import State
from queueops.redis.query_replies import Detail, read_object, whole

INSTANCES = Finder(title="Newest runs of workflow instances", key="instances")


class RunDetails(KindDetails):
    """When a run made its first step. From then to the last step it was idle, but for the steps between."""

    finder: ClassVar[Finder | None] = INSTANCES

    stored: ClassVar[Sequence[str]] = (
        marked("its last step was made by other code, and a worker with that code is alive"),
        marked("A socket or a pipe"),
        marked("A subprocess"),
        marked("A thread or an executor"),
        marked("A database"),
        marked("Django's ORM"),
        marked("Another event loop"),
        marked("What another event loop or another library waits for"),
        marked("%(what)s in the function of wf.side_effect()"),
        marked("A call, a timer or a task"),
        marked("asyncio.as_completed() with coroutines"),
        marked("Do it in an activity, and await wf.call(...)."),
        marked("Put it beside the function."),
        marked("Await the coroutine itself."),
        marked("Await what wf.* and asyncio's functions give."),
        marked("Give it tasks: asyncio.ensure_future(...) for each."),
        marked("its step failed"),
        marked("its step cannot be read"),
        marked("its lease is not current"),
        marked("%(error)s In a workflow, use the database in an activity."),
        marked("A decision step did not end within %(number)s s. Code that waits must await."),
        marked("its workflow does not need it any more"),
        marked("its parent does not need it any more"),
        marked("its end was lost"),
        marked("it is gone"),
        marked("its last run is gone"),
        marked("it was deleted before its end"),
        marked("an event that cannot be read was removed: %(event)s"),
        marked("its child %(id)s was not begun: %(reason)s"),
        marked("its pool could not read the call"),
        marked("its instance %(instance)s has a run that has not ended: %(run)s"),
        marked("its instance %(instance)s has a newer run that has not ended"),
        marked("its history belongs to its arguments: start another run"),
        marked("it is suspended: resume it"),
        marked("what it waited for was cancelled with it: retry it from the beginning, or start another run"),
        marked("it has a next run: retry that one"),
        marked("it has a next run: reset that one"),
        marked("it is a part of another task, which ends with its first run"),
        marked("its history has no entry %(number)s"),
        marked("it has open calls of other pools: reset it when they have ended"),
    )

    def of_task(self, detail: Detail, record: Mapping[str, str], state: str) -> dict[str, Any]:
        """The time of the first step, if it is not the last one."""
        first = _first_step(detail, record)
        return {"first_begun_ms": first} if first else {}

    def moments(self, detail: Detail, record: Mapping[str, str]) -> Iterable[Moment]:
        """The first step, and the wait behind it; nothing if the last step is the first one."""
        first = _first_step(detail, record)
        if not first:
            return ()
        waits = say("waits; any steps between the first and the last one are not listed here")
        return (
            Moment(t=first, state=State.LOCKED, text=say("claimed for its first decision step")),
            Moment(t=first, state=State.IDLE, text=waits),
        )

    def refuses(self, record: str, fields: Mapping[str, str]) -> tuple[str, ...]:
        """Verbs that a run never permits."""
        return refused_verbs.refused(record, fields)

    def lines(self, task: TaskDetail) -> Iterable[tuple[str, object]]:
        """The command that shows its history."""
        if task.kind == "workflow":
            yield "history", manage("queue", "run", task.id)

    def other_ids(self, id: str, found: LookUp) -> Iterable[OtherId]:
        """The instance, whose newest run is a task."""
        rows = [row for each in found.others if each.title == INSTANCES.title for row in each.rows]
        return [OtherId("an instance of a workflow", ("run", id), row.id) for row in rows]

    def alarms(self, pool: str, sampled: Mapping[str, Any]) -> Iterable[Alarm]:
        """Blocked runs."""
        return alarms.alarms(pool, sampled)

    def notes(self, sampled: Mapping[str, Any]) -> Iterable[str]:
        """Events that came too late."""
        return alarms.notes(sampled)


def _first_step(detail: Detail, record: Mapping[str, str]) -> int:
    """When the first step began, in epoch milliseconds; 0 if it is the last one, or is not known.

    The history of a run that came from a reset begins with the steps of an earlier run: the first one is not known.
    """
    mark = read_object(detail.own.get("first_mark", b"")) or {}
    first = whole(mark.get("at"))
    return first if whole(record.get("c")) <= first < whole(record.get("b")) else 0


DETAILS = RunDetails()
