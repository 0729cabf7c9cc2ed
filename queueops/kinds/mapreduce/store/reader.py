"""Chunk reader: read-only queries about the chunks of map-reduce tasks, bounded however many chunks exist.

Replies are what the scripts return; `queueops.inspect` makes its answers from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import msgspec
import redis
from redis.exceptions import ResponseError

from queueops.errors import BrokerUnavailable
from queueops.kinds.mapreduce.states import AGGREGATING, CHUNK_STATES
from queueops.kinds.mapreduce.store.chunk_keys import chunk_key, chunk_set
from queueops.redis.keys import Keys
from queueops.redis.query_replies import maybe_whole, text, whole
from queueops.redis.store_client import StoreClient

MOST_READ = 2000
"""Members of one set that are read for a picture; a larger set is sampled."""
BUDGET = 800
"""Maximum number of chunks that a page examines."""
STRAGGLERS, RUNS, LOOKS, KINDS, STEPS = 8, 100, 200, 20, 60
TASKS = 100
"""Aggregating tasks that are read at once."""
PARENT = ("s", "n", "ph", "xr", "xt", "xp", "oc", "mx", "cn")
"""Fields of the task that the page of a chunk shows."""


class Single(msgspec.Struct, kw_only=True):
    """One chunk with its log, its second run and fields of its task; ``lost``: its record is missing."""

    record: dict[bytes, bytes]
    lost: bool
    second: dict[bytes, bytes]
    log: list[bytes]
    due: int | None
    ahead: int | None
    parent: dict[str, str]


class AggregatingTask(NamedTuple):
    """A task in the state `aggregating`; `entered` is its score in that index."""

    id: str
    entered: str
    name: str
    chunks: int


class ChunkReader:
    """Queries about one task's chunks."""

    def __init__(self, broker: StoreClient, pool: str, task_id: str) -> None:
        """Bind a broker's connection and the task."""
        self._broker, self._keys, self._id = broker, Keys(broker.settings.namespace, pool), task_id
        self.broken: dict[str, None] = {}
        """Keys of a wrong type (WRONGTYPE); they count as empty."""

    def summary(self) -> dict[str, Any]:
        """All figures at once, by name; see `chunk_summary.lua`."""
        reply = self._call("chunk_summary", STRAGGLERS, RUNS, LOOKS, KINDS, STEPS)
        return {text(name): value for name, value in zip(reply[::2], reply[1::2], strict=True)}

    def counts(self) -> dict[str, int] | None:
        """The number of chunks in each state, read at one moment; None without a record."""
        keys = self._keys

        def fill(pipe: Any) -> None:
            pipe.hget(keys.task(self._id), "s")
            for state in CHUNK_STATES:
                pipe.zcard(chunk_set(keys, self._id, state))

        state, *found = self._broker.ask_all(keys.pool, fill, transaction=True)
        return None if state is None else {name: size or 0 for name, size in zip(CHUNK_STATES, found, strict=True)}

    def running_in(self, workers: Sequence[str]) -> list[int]:
        """How many chunks of the task each of these workers runs; counted where their number is limited."""
        key = chunk_set(self._keys, self._id, "by")
        found = self._broker.ask_one(self._keys.pool, lambda client: client.hmget(key, workers))
        return [whole(count) for count in found or ()]

    def columns(self, first: int, width: int, count: int) -> Sequence[Any]:
        """``count`` columns of ``width`` chunks each, from chunk ``first`` on; see `chunk_strip.lua`."""
        return self._call("chunk_strip", first, width, count, MOST_READ)

    def page(
        self, state: str, rows: int, *, after: tuple[str, str] = ("", ""), latest: bool = False, fingerprint: str = ""
    ) -> Sequence[Any]:
        """The next chunks of a state ('' = all, by number) after (score, number); see `chunk_page.lua`."""
        return self._call("chunk_page", state, int(latest), rows, BUDGET, *after, fingerprint)

    def named(self, numbers: Sequence[int]) -> Sequence[Any]:
        """These chunks, in this order, as in a page."""
        return self._call("chunk_page", "#", 0, 0, 0, "", "", "", *numbers)

    def single(self, number: int) -> Single:
        """One chunk with all its details."""
        keys, ref = self._keys, f"{self._id}#{number}"

        def fill(pipe: Any) -> None:
            pipe.hgetall(chunk_key(keys, self._id, number))
            pipe.zscore(chunk_set(keys, self._id, "failed"), number)
            pipe.hgetall(keys.task(f"{ref}~"))
            pipe.lrange(keys.log(ref), -100, -1)
            pipe.zscore(keys.agenda, ref)
            pipe.zrank(chunk_set(keys, self._id, "pending"), number)
            pipe.hmget(keys.task(self._id), PARENT)

        record, failed, second, log, due, ahead, parent = self._broker.ask_all(keys.pool, fill)
        known = {field: text(value) for field, value in zip(PARENT, parent or (), strict=False) if value is not None}
        lost = not record and failed is not None
        return Single(
            record=record or {}, lost=lost, second=second or {}, log=log or [], due=maybe_whole(due), ahead=ahead,
            parent=known,
        )  # fmt: skip

    def _call(self, script: str, *values: str | int) -> Sequence[Any]:
        """Return the reply of a script, and remember the keys that it found wrong."""
        reply: Sequence[Any]
        wrong, reply = self._broker._call(script, self._keys.pool, self._id, *values)
        self.broken |= dict.fromkeys(map(text, wrong))
        return reply


def first_tasks(
    broker: StoreClient, starts: Mapping[str, str], state: str, most: int
) -> dict[str, Sequence[AggregatingTask]]:
    """The first aggregating tasks of pools, each from its score on, in two round trips; ``most`` of them at once.

    A pool with a key of a wrong type is left out, and all of them while a server does not answer.
    """

    def read_index(pipe: Any, keys: Keys, _id: str) -> None:
        index = keys.state(AGGREGATING)
        pipe.zrangebyscore(index, starts[keys.pool], "+inf", start=0, num=TASKS, withscores=True)

    try:
        indexes = broker.ask_records([(pool, "") for pool in starts], read_index)
        found = {pool: index for (pool, _), (index,) in indexes.items() if index is not None}
        places = islice(((pool, text(id)) for pool, index in found.items() for id, _ in index), most)
        facts = broker.ask_records(list(places), lambda pipe, keys, id: _fill(pipe, keys, id, state))
    except BrokerUnavailable:
        return {}
    pages = {
        pool: [(id, entered, *facts.get((pool, text(id)), (None, None))) for id, entered in index]
        for pool, index in found.items()
    }
    return {
        pool: [_task(*each) for each in page] for pool, page in pages.items() if all(None not in each for each in page)
    }


def aggregating_tasks(
    broker: StoreClient, pool: str, state: str, start: str, first: Sequence[AggregatingTask] | None = None
) -> Iterator[AggregatingTask]:
    """The aggregating tasks of a pool, from a score on; ``first`` are those that the caller has read.

    Raises BrokerUnavailable and BrokenPool.
    """
    page = first if first is not None else _page(broker, pool, state, start, 0)
    yield from page
    offset = len(page)
    while len(page) == TASKS:
        page = _page(broker, pool, state, start, offset)
        yield from page
        offset += len(page)


def _page(broker: StoreClient, pool: str, state: str, start: str, offset: int) -> Sequence[AggregatingTask]:
    keys = broker.keys(pool)

    def read(client: redis.Redis) -> list[AggregatingTask]:
        index = keys.state(AGGREGATING)
        found: Any = client.zrangebyscore(index, start, "+inf", start=offset, num=TASKS, withscores=True)
        with client.pipeline(transaction=False) as pipe:
            for task_id, _ in found:
                _fill(pipe, keys, text(task_id), state)
            facts = iter(pipe.execute() if found else [])
        return [
            _task(task_id, entered, name, count)
            for (task_id, entered), name, count in zip(found, facts, facts, strict=True)
        ]

    try:
        page: list[AggregatingTask] = broker.ask(pool, read)
    except ResponseError as error:
        raise broker.explained(pool, error) from error
    return page


def _fill(pipe: Any, keys: Keys, id: str, state: str) -> None:
    pipe.hget(keys.task(id), "n")
    pipe.zcard(chunk_set(keys, id, state))


def _task(id: bytes, entered: float, name: bytes, count: int) -> AggregatingTask:
    return AggregatingTask(text(id), format(entered, ".17g"), text(name), count)
