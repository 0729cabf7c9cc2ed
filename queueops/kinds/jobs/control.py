"""Actions on aggregations and callbacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from queueops.control.lanes import UNCHANGED, pause_lane, resume_lane, set_lane
from queueops.control.per_pool_calls import act, checked, located
from queueops.kinds.jobs.callback_plans import CALLBACK
from queueops.kinds.jobs.lane_names import lane_of_aggregation
from queueops.kinds.jobs.store import JobCalls
from queueops.model.contracts import Row
from queueops.model.states import TERMINAL, State
from queueops.redis.broker import get_role

__all__ = [
    "discard_callbacks",
    "pause_aggregation",
    "redeliver_callbacks",
    "resume_aggregation",
    "set_aggregation",
]

NO_CALLBACK = "it is not a callback"
DISCARDED = "discarded by an operator"


def set_aggregation(
    id: str, pool: str = "default", *, limit: Any = UNCHANGED, rate: Any = UNCHANGED, new: bool = False
) -> dict[str, str]:
    """Change the limit and the rate of an aggregation; None takes one away. Returns the settings before.

    Raises BadOption and, unless the aggregation is `new`, UnknownLane.
    """
    return set_lane(pool, lane_of_aggregation(id), limit=limit, rate=rate, new=new)


def pause_aggregation(id: str, pool: str = "default", *, new: bool = False) -> dict[str, str]:
    """Pause an aggregation: it starts no job; running jobs continue. Returns the settings before."""
    return pause_lane(pool, lane_of_aggregation(id), new=new)


def resume_aggregation(id: str, pool: str = "default") -> dict[str, str]:
    """Resume an aggregation. Returns the settings before."""
    return resume_lane(pool, lane_of_aggregation(id))


def redeliver_callbacks(ids: Sequence[str], pool: str = "", *, who: str = "", token: str = "") -> list[Row]:
    """Send callbacks that are dead, discarded or delivered again, with the same body; those in back-off start now."""
    return _of_callbacks("retry", ids, pool, who=who, token=token)


def discard_callbacks(ids: Sequence[str], pool: str = "", *, who: str = "", token: str = "") -> list[Row]:
    """Give callbacks up: a dead one moves to the trash for 24 hours, one that waits is cancelled and kept."""
    found, _ = located(checked(ids), pool)
    states = {id: state for place, there in found.items() for id, (_, state) in _read(place, there).items()}
    ended = [id for id in ids if states.get(id) in TERMINAL]
    rows = _of_callbacks("delete", ended, pool, who=who, token=token)
    rows += _of_callbacks("cancel", [id for id in ids if id not in ended], pool, who=who, token=token, value=DISCARDED)
    by_id = {row.id: row for row in rows}
    return [by_id[id] for id in dict.fromkeys(ids)]


def _of_callbacks(verb: str, ids: Sequence[str], pool: str, **how: Any) -> list[Row]:
    """The action on each of them that is a callback."""
    wanted = checked(ids)
    found, _ = located(wanted, pool)
    others = {
        id: Row(id=id, word="REFUSED", state=state, detail=NO_CALLBACK)
        for place, there in found.items()
        for id, (kind, state) in _read(place, there).items()
        if kind and kind != CALLBACK
    }
    rows = {row.id: row for row in act(verb, [id for id in wanted if id not in others], pool, **how)}
    return [others.get(id) or rows[id] for id in wanted]


def _read(pool: str, ids: Sequence[str]) -> dict[str, tuple[str, State | str]]:
    """The kind and the state of records; empty texts for one in the trash."""
    return get_role(JobCalls).kinds_and_states(pool, ids)
