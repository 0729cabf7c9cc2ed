"""Chunk reader: read-only queries about the chunks of one map-reduce task, bounded however many chunks exist."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec
from redis.exceptions import ResponseError

from queueops.model.records import pairs
from queueops.redis.broker import RedisBroker
from queueops.redis.broker.chunks import CHUNK_STATES
from queueops.redis.keys import Keys
from queueops.redis.query_replies import maybe_whole, text, whole
from queueops.redis.wrong_types import replies

MOST_READ = 2000
"""Members of one set that are read for a picture; a larger set is sampled."""
BUDGET = 800
"""Maximum number of chunks that a page examines."""
STRAGGLERS, RUNS, LOOKS, KINDS, STEPS = 8, 100, 200, 20, 60
ROW_FIELDS = ("s", "at", "cr", "b", "e", "d", "c", "w", "ef", "y", "dr")
"""What `chunkpage` returns of each chunk, in the order of FIELDS in `lua/chunkpage.lua`."""


class Row(msgspec.Struct, kw_only=True):
    """One chunk of a list. Its data is present if it is short; its error is cut."""

    number: int
    score: int
    data_size: int
    result_size: int
    fields: dict[str, str]
    data: bytes
    error: bytes


class Rows(msgspec.Struct, kw_only=True):
    """A scan of one set, or of all chunks: its position, and what it found."""

    size: int
    ended: bool
    score: str
    number: str
    rows: list[Row]


class Running(msgspec.Struct, kw_only=True):
    """A chunk that a worker currently runs."""

    number: int
    begun: int
    worker: str
    attempts: int
    crashes: int


class Kind(msgspec.Struct, kw_only=True):
    """The examined chunks that failed with one kind of error."""

    fingerprint: str
    failed: int
    errored: int
    number: int
    error: bytes
    reason: str


class Summary(msgspec.Struct, kw_only=True):
    """The figures of a task's chunks. ``runs``: number, start and end of some chunks that are done."""

    now: int
    record: dict[str, str]
    counts: dict[str, int]
    due: int
    late: int
    minute: int
    first: int
    last: int
    pace: list[int]
    active: list[Running]
    runs: list[tuple[int, int, int]]
    looked: int
    kinds: list[Kind]
    paused: bool


class Single(msgspec.Struct, kw_only=True):
    """One chunk with its log, and its task's counts of all chunks.

    ``lost``: it failed because its record is missing.
    """

    record: dict[bytes, bytes]
    lost: bool
    second: dict[bytes, bytes]
    log: list[bytes]
    due: int | None
    parent: dict[str, str]


class Columns(msgspec.Struct, kw_only=True):
    """Chunks by number, ``width`` per column; ``members`` are (size, numbers) of a state, no numbers if too many.

    Then ``samples`` has the state of one chunk of each column. For single chunks, only ``single`` is filled: the state
    and the attempts.
    """

    single: list[tuple[str, int]]
    pending: list[int]
    members: dict[str, tuple[int, list[int]]]
    samples: list[str]


class ChunkReader:
    """Queries about one task's chunks."""

    def __init__(self, broker: RedisBroker, pool: str, task_id: str) -> None:
        """Bind a broker's connection and the task."""
        self._broker, self._keys, self._id = broker, Keys(broker.settings.namespace, pool), task_id
        self.broken: dict[str, None] = {}
        """Keys of a wrong type (WRONGTYPE); they count as empty."""

    def summary(self) -> Summary:
        """All figures at once."""
        reply = self._call("chunksummary", STRAGGLERS, RUNS, LOOKS, KINDS, STEPS)
        return _summary({text(reply[i]): reply[i + 1] for i in range(0, len(reply), 2)})

    def columns(self, first: int, width: int, count: int) -> Columns:
        """The contents of ``count`` columns of ``width`` chunks each, from chunk ``first`` on."""
        reply = self._call("chunkstrip", first, width, count, MOST_READ)
        if width == 1:
            single = [(text(reply[i]), whole(reply[i + 1])) for i in range(0, len(reply), 2)]
            return Columns(single=single, pending=[], members={}, samples=[])
        members = {
            state: (int(size), [int(number) for number in numbers])
            for state, (size, numbers) in zip(("active", "errored", "failed"), reply[1:4], strict=True)
        }
        samples = [text(state) for state in reply[4]]
        return Columns(single=[], pending=list(reply[0]), members=members, samples=samples)

    def page(
        self, state: str, rows: int, *, after: tuple[str, str] = ("", ""), latest: bool = False, fingerprint: str = ""
    ) -> Rows:
        """The next chunks of a state ('' = all, by number) after (score, number)."""
        return _rows(self._call("chunkpage", state, int(latest), rows, BUDGET, *after, fingerprint))

    def named(self, numbers: Sequence[int]) -> list[Row]:
        """These chunks, in this order."""
        return _rows(self._call("chunkpage", "#", 0, 0, 0, "", "", "", *numbers)).rows

    def single(self, number: int) -> Single:
        """One chunk with all its details."""
        keys, ref = self._keys, f"{self._id}#{number}"

        def fill(pipe: Any) -> None:
            pipe.hgetall(keys.chunk(self._id, number))
            pipe.zscore(keys.chunks(self._id, "failed"), number)
            pipe.hgetall(keys.task(f"{ref}~"))
            pipe.lrange(keys.log(ref), -100, -1)
            pipe.zscore(keys.agenda, ref)
            pipe.hmget(keys.task(self._id), PARENT)

        record, failed, second, log, due, parent = self._repeat(lambda: replies(self._broker.at(keys.pool), fill))
        known = {field: text(value) for field, value in zip(PARENT, parent or (), strict=False) if value is not None}
        lost = not record and failed is not None
        return Single(
            record=record or {}, lost=lost, second=second or {}, log=log or [], due=maybe_whole(due), parent=known
        )

    def _call(self, script: str, *values: str | int) -> Any:
        """Return the reply of a script, and remember the keys that it found wrong."""
        call = partial(self._broker.scripts.call, script, self._keys.prefix, self._id, *values)
        wrong, reply = self._repeat(call)
        self.broken |= dict.fromkeys(map(text, wrong))
        return reply

    def _repeat(self, call: Callable[[], Any]) -> Any:
        """Raises BrokerUnavailable and BrokenPool."""
        try:
            return self._broker._repeat(call, self._keys.pool)
        except ResponseError as error:
            raise self._broker.explained(self._keys.pool, error) from error


PARENT = ("s", "n", "ph", "xr", "xt", "xp", "oc", "mx", "cn")


def _summary(found: dict[str, Any]) -> Summary:
    active, runs = found["active"], [whole(value) for value in found["runs"]]
    return Summary(
        now=whole(found["now"]),
        record={text(field): text(value) for field, value in pairs(found["record"]).items()},
        counts=dict(zip(CHUNK_STATES, found["counts"], strict=True)),
        due=whole(found["due"]),
        late=whole(found["late"]),
        minute=whole(found["minute"]),
        first=whole(found["first"]),
        last=whole(found["last"]),
        pace=list(found["pace"]),
        active=[_running(active[i : i + 5]) for i in range(0, len(active), 5)],
        runs=[(runs[i], runs[i + 1], runs[i + 2]) for i in range(0, len(runs), 3)],
        looked=whole(found["looked"]),
        kinds=[_kind(row) for row in found["errors"]],
        paused=found["paused"] == 1,
    )


def _running(row: Sequence[bytes]) -> Running:
    number, begun, worker, attempts, crashes = row
    return Running(
        number=whole(number), begun=whole(begun), worker=text(worker), attempts=whole(attempts), crashes=whole(crashes)
    )


def _kind(row: Sequence[Any]) -> Kind:
    fingerprint, failed, errored, number, error, reason = row
    return Kind(
        fingerprint=text(fingerprint),
        failed=failed,
        errored=errored,
        number=whole(number),
        error=error,
        reason=text(reason),
    )


def _rows(reply: Sequence[Any]) -> Rows:
    size, ended, score, number, rows = reply
    return Rows(size=size, ended=bool(ended), score=text(score), number=text(number), rows=[_row(row) for row in rows])


def _row(row: Sequence[Any]) -> Row:
    number, score, size, result_size, values, data, error = row
    fields = {name: text(value) for name, value in zip(ROW_FIELDS, values, strict=False) if value}
    return Row(
        number=whole(number),
        score=whole(score),
        data_size=size,
        result_size=result_size,
        fields=fields,
        data=data,
        error=error,
    )
