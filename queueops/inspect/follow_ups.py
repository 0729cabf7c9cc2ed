"""Follow-ups of a task: what its end is to push, what its last end has pushed, and what it follows itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from queueops.inspect.answers import Answer
from queueops.inspect.store import parameters
from queueops.model.redact import Redactor, cut, readable
from queueops.redis.query_replies import Detail, text, whole


class FollowUp(Answer, frozen=True, kw_only=True):
    """A task that the end of another one pushes, if the outcome is one of `outcomes`."""

    outcomes: tuple[str, ...]
    name: str
    pool: str


class FollowUpTask(Answer, frozen=True, kw_only=True):
    """A task that the last end has pushed. Name and state are empty in another pool, and once it is gone."""

    id: str
    pool: str
    name: str
    state: str


def planned(record: Mapping[bytes, bytes]) -> tuple[FollowUp, ...]:
    """The follow-ups of a record. What cannot be read is left out: the log of the task names it at its end."""
    return tuple(
        FollowUp(
            outcomes=tuple(cut(str(each), 20) for each in plan["on"]),
            name=cut(plan["fields"][1], 200),
            pool=cut(str(plan.get("pool", "")), 100),
        )
        for plan in _plans(record.get(b"fu", b""))
    )


def pushed(detail: Detail) -> tuple[FollowUpTask, ...]:
    """The tasks that the last end of this one has pushed."""
    parts = iter(list(map(text, detail.own.get("follow_ups") or ())))
    return tuple(
        FollowUpTask(
            id=cut(task_id, 200), pool=cut(pool, 100) or detail.pool, name=cut(name, 200), state=cut(state, 50)
        )
        for task_id, pool, name, state in zip(parts, parts, parts, parts, strict=True)
    )


def shown(value: bytes, hide: Redactor) -> str:
    """The stored follow-ups with their arguments and metadata redacted."""
    plans = list(_plans(value))
    if not plans:
        return hide.text(readable(value))
    for plan in plans:
        fields = dict(zip(plan["fields"][::2], plan["fields"][1::2], strict=False))
        names = parameters(fields.get("k", "task"), fields["n"])
        for short in ("a", "me", "fu"):
            if short in fields:
                data = fields[short].encode()
                fields[short] = shown(data, hide) if short == "fu" else hide.document(data, names)
        plan["fields"] = [part for pair in fields.items() for part in pair]
    return json.dumps(plans, ensure_ascii=False)


def of_task(detail: Detail, record: Mapping[str, str]) -> dict[str, Any]:
    """What its end is to push, what its last end has pushed, and what it follows: values of `TaskDetail`."""
    field = record.get
    return {
        "follow_ups": planned(detail.record),
        "followed_by": pushed(detail),
        "follow_ups_dead": max(0, whole(field("fd"))),
        "follows": field("oi", ""),
        "follows_pool": field("op", "") or (detail.pool if "oi" in record else ""),
        "follows_outcome": field("oo", ""),
    }


def _plans(value: bytes) -> Iterator[dict[str, Any]]:
    try:
        found = json.loads(value.decode("utf-8", "replace")) if value else []
    except (ValueError, RecursionError):
        return
    for plan in found if isinstance(found, list) else ():
        if not (isinstance(plan, dict) and isinstance(plan.get("on"), list)):
            continue
        fields = plan.get("fields")
        if (
            isinstance(fields, list)
            and len(fields) > 1
            and fields[0] == "n"
            and all(isinstance(f, str) for f in fields)
        ):
            yield plan
