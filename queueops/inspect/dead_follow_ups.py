"""Dead follow-ups: tasks that the end of another one should have pushed, and could not."""

from __future__ import annotations

import json
from operator import attrgetter
from typing import Any, ClassVar

from queueops.inspect.answers import Answer, Listing, broken_pools
from queueops.inspect.follow_ups import FollowUp, FollowUpTask
from queueops.inspect.store import open_reader, pools_of
from queueops.model.redact import cut
from queueops.redis.query_replies import text, whole

__all__ = ["DeadFollowUp", "FollowUp", "FollowUpTask", "dead_follow_ups"]

MOST = 200


class DeadFollowUp(Answer, frozen=True, kw_only=True):
    """A follow-up that could not be pushed: of which task, on which outcome, and why.

    `state` is empty once the record of the task is gone, or another generation has its id.
    """

    TEXTS_OF_TASKS: ClassVar = ("reason",)
    STORED: ClassVar = ("reason",)

    id: str
    pool: str
    name: str
    state: str
    outcome: str
    at_ms: int
    next_name: str = ""  # of the task that was to be pushed; empty if the record did not say it
    next_pool: str = ""
    next_id: str = ""
    reason: str = ""


def dead_follow_ups(pool: str = "", limit: int = 50) -> Listing[DeadFollowUp]:
    """The follow-ups that could not be pushed, the latest first: of seven days, and at most 10,000 of a pool.

    It has them also when the task is gone. One leaves the list when it is delivered, or when its task ends once more.
    `limit` is the number of rows, at most 200.
    """
    reader = open_reader()
    limit = max(1, min(limit, MOST))
    replies = reader.ask("dead_follow_ups", dict.fromkeys(pools_of(reader, pool), (limit,)))
    rows = [_row(place, row) for place, found in replies.items() for row in found]
    found = sorted(rows, key=attrgetter("at_ms"), reverse=True)[:limit]
    return Listing(found, broken_pools(reader.broken, reader.silent))


def _row(pool: str, row: list[Any]) -> DeadFollowUp:
    id, at, state, stored = row
    note = _note(text(stored).partition(" ")[2])
    return DeadFollowUp(
        id=cut(text(id), 200),
        pool=pool,
        name=cut(note.get("name", ""), 200),
        state=cut(text(state), 50),
        outcome=cut(note.get("outcome", ""), 20),
        at_ms=whole(at),
        next_name=cut(note.get("next", ""), 200),
        next_pool=cut(note.get("pool", ""), 100),
        next_id=cut(note.get("next_id", ""), 200),
        reason=cut(note.get("reason", ""), 500),
    )


def _note(data: str) -> dict[str, str]:
    """What is stored of one; empty for what cannot be read."""
    try:
        found = json.loads(data) if data else {}
    except ValueError:
        return {}
    return {name: str(value) for name, value in found.items()} if isinstance(found, dict) else {}
