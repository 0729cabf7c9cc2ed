"""The verbs on commands, which bring to a task of one pool what happened in another."""

from __future__ import annotations

from collections.abc import Sequence

from queueops.errors import BadOption, TooMany
from queueops.model.contracts import Row
from queueops.redis.broker import RedisBroker, get_broker
from queueops.redis.broker.control import MOST_AT_ONCE
from queueops.redis.reader import Reader

STEPS = 40
"""Calls that one action on all dead commands makes at most."""


def requeue_commands(ids: Sequence[str], pool: str) -> list[Row]:
    """Have commands tried again at once, with all their tries. The `state` of a row is where it was.

    REFUSED is one that a worker is just applying, or that is not a command; GONE one that is not there any more.
    Raises BadOption and TooMany.
    """
    return _each("requeue", ids, pool)


def drop_commands(ids: Sequence[str], pool: str) -> list[Row]:
    """Drop commands for good. An end or a turn that they would have told is told again, a cancel or retry is not."""
    return _each("drop", ids, pool)


def requeue_dead_commands(pool: str) -> int:
    """Have all commands of a pool that were given up tried again; how many."""
    return _all("requeue", pool)


def drop_dead_commands(pool: str) -> int:
    """Drop all commands of a pool that were given up; how many."""
    return _all("drop", pool)


def _each(verb: str, ids: Sequence[str], pool: str) -> list[Row]:
    wanted = list(dict.fromkeys(ids))
    if len(wanted) > MOST_AT_ONCE:
        raise TooMany(count=len(wanted), what="commands", limit=MOST_AT_ONCE)
    return _broker(pool).redeliver(pool, verb, wanted)[0] if wanted else []


def _all(verb: str, pool: str) -> int:
    """In bounded steps; those that are given up meanwhile are left for another time."""
    broker, done = _broker(pool), 0
    for _ in range(STEPS):
        rows, left = broker.redeliver(pool, verb, (), dead=MOST_AT_ONCE)
        done += sum(row.word == "OK" for row in rows)
        if not left or all(row.word != "OK" for row in rows):
            break
    return done


def _broker(pool: str) -> RedisBroker:
    broker = get_broker()
    if not Reader(broker).knows(pool):
        raise BadOption(name="pool", value=pool, expected="one that has been used")
    return broker
