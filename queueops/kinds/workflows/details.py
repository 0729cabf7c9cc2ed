"""Details of a run: the states before its last decision step, which its record does not have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from queueops.inspect.kind_details import KindDetails
from queueops.inspect.task_history import Moment
from queueops.model.states import State
from queueops.redis.query_replies import Detail, read_object, whole


class RunDetails(KindDetails):
    """When a run made its first step. From then to the last step it was idle, but for the steps between."""

    def of_task(self, detail: Detail, record: Mapping[str, str], state: str) -> dict[str, Any]:
        """The time of the first step, if it is not the last one."""
        first = _first_step(detail, record)
        return {"first_begun_ms": first} if first else {}

    def moments(self, detail: Detail, record: Mapping[str, str]) -> Iterable[Moment]:
        """The first step, and the wait behind it; nothing if the last step is the first one."""
        first = _first_step(detail, record)
        if not first:
            return ()
        waits = "waits; any steps between the first and the last one are not listed here"
        return (
            Moment(t=first, state=State.LOCKED, text="claimed for its first decision step"),
            Moment(t=first, state=State.IDLE, text=waits),
        )


def _first_step(detail: Detail, record: Mapping[str, str]) -> int:
    """When the first step began, in epoch milliseconds; 0 if it is the last one, or is not known.

    The history of a run that came from a reset begins with the steps of an earlier run: the first one is not known.
    """
    mark = read_object(detail.own.get("first_mark", b"")) or {}
    first = whole(mark.get("at"))
    return first if whole(record.get("c")) <= first < whole(record.get("b")) else 0


DETAILS = RunDetails()
