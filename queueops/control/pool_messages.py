"""Actions on commands between pools: try again, and drop."""

from __future__ import annotations

from collections.abc import Sequence

from queueops.control.per_pool_calls import check_pool
from queueops.errors import TooMany
from queueops.model.contracts import Row
from queueops.redis.broker import get_role
from queueops.redis.broker.control import MOST_AT_ONCE
from queueops.redis.broker.pool_messages import OutboxCalls

__all__ = ["drop_commands", "drop_dead_commands", "requeue_commands", "requeue_dead_commands"]

STEPS = 40
"""The most calls of one action on all dead commands."""


def requeue_commands(ids: Sequence[str], pool: str) -> list[Row]:
    """Try pool messages again at once, with all their attempts. The `state` of a row is its index before.

    REFUSED is a command that a process has taken now, or an entry that is not a command. GONE is a command that does
    not exist any more. Raises BadOption and TooMany.
    """
    return _each("requeue", ids, pool)


def drop_commands(ids: Sequence[str], pool: str) -> list[Row]:
    """Drop pool messages for good.

    The store later resends a dropped report of an end, or a part's turn. A dropped cancel or retry is lost.
    """
    return _each("drop", ids, pool)


def requeue_dead_commands(pool: str) -> int:
    """Try all messages of a pool that were given up again; returns how many."""
    return _all("requeue", pool)


def drop_dead_commands(pool: str) -> int:
    """Drop all messages of a pool that were given up; returns how many."""
    return _all("drop", pool)


def _each(verb: str, ids: Sequence[str], pool: str) -> list[Row]:
    wanted = list(dict.fromkeys(ids))
    if len(wanted) > MOST_AT_ONCE:
        raise TooMany(count=len(wanted), what="commands", limit=MOST_AT_ONCE)
    if not wanted:
        return []
    check_pool(pool)
    return get_role(OutboxCalls).redeliver(pool, verb, wanted)[0]


def _all(verb: str, pool: str) -> int:
    """Act in bounded steps; commands that become dead meanwhile are left for the next action."""
    check_pool(pool)
    outbox, done = get_role(OutboxCalls), 0
    for _ in range(STEPS):
        rows, left = outbox.redeliver(pool, verb, (), dead=MOST_AT_ONCE)
        done += sum(row.word == "OK" for row in rows)
        if not left or all(row.word != "OK" for row in rows):
            break
    return done
