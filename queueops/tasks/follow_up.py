"""Follow-ups: the option `follow_up`, by which the end of a task pushes other tasks.

The record holds them as JSON, and the store pushes them in the call that ends the task. So no crash comes between.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, runtime_checkable

import msgspec

from queueops import conf
from queueops.errors import BadOption, PayloadTooLarge
from queueops.redis.pushwire import due_argument, record_fields

if TYPE_CHECKING:
    from queueops.model.contracts import Push

AT_END = ("success", "failure", "cancelled", "crashed")
"""The outcomes that `end` stands for."""
OUTCOMES = (*AT_END, "discarded")
MOST = 20
FollowUpOutcome = Literal["success", "failure", "cancelled", "crashed", "discarded", "end"]


class _Pushable(Protocol):
    def as_part(self, args: Sequence[Any], kwargs: dict[str, Any], *, after: bool) -> Push: ...


@runtime_checkable
class Call(Protocol):
    """The call of a task, as `task.s()` and `task.si()` make it."""

    task: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    ignores_previous: bool


FollowUp = tuple[str, tuple[Call, ...]]


def read_follow_ups(name: str, value: Any) -> tuple[FollowUp, ...]:
    """The calls by outcome. Raises BadOption for another outcome, and for what is not the call of a task."""
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise BadOption(name=name, value=value, expected='outcomes and calls, such as {"success": report.s()}')
    found: list[FollowUp] = []
    for outcome, calls in value.items():
        if outcome not in (*OUTCOMES, "end"):
            raise BadOption(name=name, value=outcome, expected=f"one of {', '.join(OUTCOMES)} and end as its keys")
        given = tuple(calls) if isinstance(calls, Iterable) and not isinstance(calls, (str, bytes, Call)) else (calls,)
        for call in given:
            if not isinstance(call, Call):
                expected = "calls of single tasks, such as task.s(1); a task that pushes a chain or a group may follow"
                raise BadOption(name=name, value=call, expected=expected)
        found.append((outcome, cast("tuple[Call, ...]", given)))
    if sum(len(calls) for _, calls in found) > MOST:
        raise BadOption(name=name, value=value, expected=f"at most {MOST} calls")
    return tuple(found)


def encode_follow_ups(follow_ups: Sequence[FollowUp]) -> str:
    """The field of the record. Raises what a push of these calls raises."""
    plans = [_plan(outcome, call) for outcome, calls in follow_ups for call in calls]
    data = msgspec.json.encode(plans)
    limit = conf.current().payload_limit
    if len(data) > limit:
        raise PayloadTooLarge(what="follow-ups", name=plans[0]["fields"][1], size=len(data), limit=limit)
    return data.decode()


def _plan(outcome: str, call: Call) -> dict[str, Any]:
    made: _Pushable = call.task
    push = made.as_part(call.args, call.kwargs, after=not call.ignores_previous)
    return {
        "on": AT_END if outcome == "end" else (outcome,),
        "pool": push.pool,
        "id": push.id if push.token else "",
        "policy": str(push.conflict),
        "due": str(due_argument(push)),
        "alone": call.ignores_previous,
        "fields": [
            part.decode() if isinstance(part, bytes) else str(part) for part in record_fields(push, token=False)
        ],
    }
