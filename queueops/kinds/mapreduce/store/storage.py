"""Chunk storage: written by a running map, read by the reduce, counted by workers and readers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any

import redis

from queueops import conf
from queueops.errors import ChunksLost, StaleLease
from queueops.kinds.mapreduce.contracts import ChunkRow
from queueops.kinds.mapreduce.states import CHUNK_STATES
from queueops.kinds.mapreduce.store.chunk_keys import chunk_key, chunk_set
from queueops.redis.store_client import BATCH, StoreClient

PAGE, PAGE_BYTES = 250, 256 * 1024
"""Results in one round trip of the reduce: a maximum count, and an approximate maximum of bytes."""


def digest(data: Sequence[bytes]) -> str:
    """A digest of a stage of chunks, which recognises the same chunks in the same order."""
    found = blake2b(digest_size=16)
    for each in data:
        found.update(b"%d:" % len(each))
        found.update(each)
    return found.hexdigest()


class ChunkCalls(StoreClient):
    """The chunk operations of a map, a reduce and a status."""

    def split(self, pool: str, task_id: str, fence: int, first: int, data: Sequence[bytes]) -> None:
        """Write the next stage of a running map, numbered from ``first``. Raises StaleLease if the lease is lost."""
        ring = conf.keyring()
        stored = data if ring is None else map(ring.seal, data)
        self._split(pool, task_id, fence, "add", first, digest(data), *stored)

    def begin_map(self, pool: str, task_id: str, fence: int) -> int:
        """How many chunks of an earlier attempt of this map exist; all other chunks are deleted.

        Works in portions. If the worker dies meanwhile, the next attempt does the rest. Raises StaleLease.
        """
        return self._delete(pool, task_id, fence, "begin", 0)

    def make_room(self, pool: str, task_id: str, fence: int, first: int = 0) -> None:
        """Delete the chunks from number ``first`` on, where a stage begins, in portions. Raises StaleLease."""
        self._delete(pool, task_id, fence, "cut", first)

    def written_stages(self, pool: str, task_id: str) -> Iterator[tuple[int, str]]:
        """The stages written by a map that has not ended: the number after each one's last chunk, and its digest."""
        key, start = chunk_set(self.keys(pool), task_id, "stages"), 0
        while page := self.ask(pool, partial(_slice, key, start, BATCH)):
            for found in page:
                end, _, told = found.decode().partition(":")
                yield int(end), told
            start += len(page)

    def _delete(self, pool: str, task_id: str, fence: int, step: str, first: int) -> int:
        left = -1
        while left < 0:
            left = self._split(pool, task_id, fence, step, first)
        return left

    def _split(self, pool: str, task_id: str, fence: int, step: str, number: int, *data: str | bytes) -> int:
        word: bytes | int = self._call("write_chunks", pool, task_id, fence, step, number, *data)
        if isinstance(word, bytes):
            raise StaleLease(id=task_id, fence=fence)
        return word

    def chunk_counts(self, pool: str, task_id: str) -> dict[str, int]:
        """How many chunks a task has in each state."""
        keys = self.keys(pool)

        def fill(pipe: Any) -> None:
            for state in CHUNK_STATES:
                pipe.zcard(chunk_set(keys, task_id, state))

        # read at one moment, so that no chunk is counted twice
        found = self.ask_all(pool, fill, transaction=True)
        return {state: count or 0 for state, count in zip(CHUNK_STATES, found, strict=True)}

    def chunk_numbers(self, pool: str, task_id: str, state: str, start: int = 0, count: int = BATCH) -> list[int]:
        """Numbers of the chunks in a state, from a rank on: pending ones by number, others by time."""
        key = chunk_set(self.keys(pool), task_id, state)
        return [int(n) for n in self.ask(pool, partial(_slice, key, start, count))]

    def chunk_rows(self, pool: str, task_id: str, numbers: Sequence[int], *fields: str) -> list[ChunkRow]:
        """Fields of chunks, in one round trip; at most 500."""
        keys = self.keys(pool)

        def fill(pipe: Any) -> None:
            for number in numbers:
                pipe.hmget(chunk_key(keys, task_id, number), "s", *fields)

        blank: list[bytes | None] = [None] * (1 + len(fields))
        rows = [row or blank for row in self.ask_all(pool, fill)]
        return [
            ChunkRow(number, (row[0] or b"").decode(), dict(zip(fields, row[1:], strict=True)))
            for number, row in zip(numbers, rows, strict=True)
        ]

    def chunk_results(self, pool: str, task_id: str, count: int) -> Iterator[bytes]:
        """Yield the encoded result of each chunk that is done, in the map's order, with one page in memory.

        ``count`` is the number of all chunks. Raises ChunksLost for missing records, unless these chunks failed.
        """
        for page in self.chunk_result_pages(pool, task_id, count):
            yield from page

    def chunk_result_pages(self, pool: str, task_id: str, count: int) -> Iterator[list[bytes]]:
        """The same, page by page."""
        number = 0
        while number < count:
            number, lost, results = self._call("chunk_results", pool, task_id, number, count, PAGE, PAGE_BYTES)
            if lost:
                raise ChunksLost(id=task_id, numbers=[int(each) for each in lost])
            yield results


def _slice(key: str, start: int, count: int, client: redis.Redis) -> Any:
    """Members of an index from a rank on."""
    return client.zrange(key, start, start + count - 1)
