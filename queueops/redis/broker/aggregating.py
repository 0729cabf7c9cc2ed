"""Aggregating map-reduce tasks, with how many of their chunks are in a state: read-only, one page at a time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import redis
from redis.exceptions import ResponseError

from queueops.model.states import State
from queueops.redis.broker import RedisBroker
from queueops.redis.query_replies import text

PAGE = 100


class Gathering(NamedTuple):
    """A task in the state `aggregating`; `entered` is its score in that index."""

    id: str
    entered: str
    name: str
    chunks: int


def gathering(broker: RedisBroker, pool: str, state: str, start: str) -> Iterator[Gathering]:
    """The aggregating tasks of a pool, from a score on. Raises BrokerUnavailable and BrokenPool."""
    offset = 0
    while page := _page(broker, pool, state, start, offset):
        yield from page
        offset += len(page)


def _page(broker: RedisBroker, pool: str, state: str, start: str, offset: int) -> list[Gathering]:
    try:
        found: list[Gathering] = broker.ask(pool, partial(_read, broker, pool, state, start, offset))
    except ResponseError as error:
        raise broker.explained(pool, error) from error
    return found


def _read(broker: RedisBroker, pool: str, state: str, start: str, offset: int, client: redis.Redis) -> list[Gathering]:
    keys = broker.keys(pool)
    index = keys.state(State.AGGREGATING)
    found: Any = client.zrangebyscore(index, start, "+inf", start=offset, num=PAGE, withscores=True)
    with client.pipeline(transaction=False) as pipe:
        for task_id, _ in found:
            pipe.hget(keys.task(text(task_id)), "n")
            pipe.zcard(keys.chunks(text(task_id), state))
        facts = iter(pipe.execute() if found else [])
    return [
        Gathering(text(task_id), format(entered, ".17g"), text(name), int(count))
        for (task_id, entered), name, count in zip(found, facts, facts, strict=True)
    ]
