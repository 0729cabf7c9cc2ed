"""Dead follow-ups: tasks whose end could not push what follows it."""

from __future__ import annotations

import json
from operator import attrgetter
from typing import Any, ClassVar

from queueops.follow_ups.details import FollowUp, FollowUpTask
from queueops.inspect.answers import Answer, Listing, broken_pools
from queueops.inspect.store import open_reader, pools_of
from queueops.model.redact import cut
from queueops.redis.query_replies import text, whole

__all__ = ["DeadFollowUps", "FollowUp", "FollowUpTask", "dead_follow_ups"]

MOST = 200


class DeadFollowUps(Answer, frozen=True, kw_only=True):
    """A task with follow-ups that could not be pushed: how many, when the last one, and why it could not."""

    TEXTS: ClassVar = ("reason",)

    id: str
    pool: str
    name: str
    state: str
    count: int
    last_ms: int
    reason: str = ""


def dead_follow_ups(pool: str = "", limit: int = 50) -> Listing[DeadFollowUps]:
    """The tasks with follow-ups that could not be pushed, the latest first. A retry of a task pushes them again."""
    reader = open_reader()
    limit = max(1, min(limit, MOST))
    replies = reader.ask("dead_follow_ups", dict.fromkeys(pools_of(reader, pool), (limit,)))
    rows = [_row(place, row) for place, found in replies.items() for row in found]
    found = sorted(rows, key=attrgetter("last_ms"), reverse=True)[:limit]
    return Listing(found, broken_pools(reader.broken, reader.silent))


def _row(pool: str, row: list[Any]) -> DeadFollowUps:
    id, last, name, state, count, line = row
    return DeadFollowUps(
        id=cut(text(id), 200),
        pool=pool,
        name=cut(text(name), 200),
        state=cut(text(state), 50),
        count=whole(count),
        last_ms=whole(last),
        reason=_reason(line),
    )


def _reason(line: bytes) -> str:
    """What a line of the log says; empty for one that cannot be read."""
    try:
        found = json.loads(line) if line else {}
    except ValueError:
        return ""
    return cut(str(found.get("text") or ""), 500) if isinstance(found, dict) else ""
