"""Chunk writer: stores what a map yields, a stage at a time. Stages of an earlier attempt are not written again."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping
from time import monotonic
from typing import Any

from queueops.errors import BadChunks, TooManyChunks
from queueops.kinds.mapreduce.chunk_store import ChunkStore
from queueops.kinds.mapreduce.store.storage import digest
from queueops.results import waiting
from queueops.tasks.context import Context
from queueops.tasks.encoding import with_article
from queueops.tasks.store_call import write

Encode = Callable[[str, Any, str], bytes]

MOST_CHUNKS = 10_000_000
"""Chunks of one task."""
BATCH_CHUNKS, BATCH_BYTES, BATCH_SECONDS = 250, 256 * 1024, 1.0
"""A stage is a batch of chunks: a call of the store stays short, memory flat, and progress is seen."""


def write_chunks(broker: ChunkStore, context: Context, name: str, chunks: Any, encode: Encode) -> int:
    """Write the chunks of a map, and return their number.

    ``encode`` makes the data of a chunk. Stages of an earlier attempt stay while the map yields the same chunks in the
    same order. From the first stage that differs, all is written anew, and the log says so. A requested cancel takes
    effect between two chunks. Raises NotEncodable, PayloadTooLarge, BadChunks, TooManyChunks and StaleLease.
    """
    writer = ChunkWriter(broker, context, name, encode)
    found = _checked(name, chunks)
    writer.begin()
    for chunk in _heeding(found, context) if isinstance(found, Iterator) else found:
        if writer.add(chunk):
            writer.flush()
    return writer.end()


async def awrite_chunks(broker: ChunkStore, context: Context, name: str, chunks: Any, encode: Encode) -> int:
    """The async form, for an async map; calls of the store are made in a thread."""
    writer = ChunkWriter(broker, context, name, encode)
    found = chunks if isinstance(chunks, AsyncIterable) else _each(_checked(name, chunks))
    await waiting.in_thread(writer.begin)
    async for chunk in found:
        if writer.add(chunk):
            await waiting.in_thread(writer.flush)
    return await waiting.in_thread(writer.end)


class ChunkWriter:
    """Compares the chunks of a map with the stored stages, then writes those after them. `add` calls no store."""

    def __init__(self, broker: ChunkStore, context: Context, name: str, encode: Encode) -> None:
        self._broker, self._context, self._name, self._encode = broker, context, name, encode
        self._lease = context.lease
        self._number = 0  # of the next chunk
        self._count = 0  # chunks that are stored
        self._written = 0  # chunks that an earlier attempt wrote
        self._stages: Iterator[tuple[int, str]] = iter(())
        self._expected: tuple[int, str] | None = None  # the stage that the next chunks are compared with
        self._differs = False
        self._batch: list[bytes] = []
        self._size = 0
        self._begun = 0.0
        self._full: list[list[bytes]] = []  # batches to write

    def begin(self) -> None:
        """Read what is stored."""
        lease = self._lease
        self._written = write(self._context, self._broker.begin_map, lease.pool, lease.id, lease.fence)
        if self._written:
            self._stages = iter(self._broker.written_stages(lease.pool, lease.id))
            self._next_stage()

    def add(self, chunk: Any) -> bool:
        """Take the next chunk. Returns whether `flush` has work."""
        if self._number == MOST_CHUNKS:
            raise TooManyChunks(name=self._name, limit=MOST_CHUNKS)
        data = self._encode(self._name, chunk, f"chunk {self._number}")
        self._number += 1
        if self._expected is not None:
            return self._compare(data, *self._expected)
        self._collect(data)
        return bool(self._full)

    def flush(self) -> None:
        """Write complete stages, or read the stage to compare the next chunks with."""
        if self._differs:
            self._begin_anew()
        elif self._expected is not None:
            self._next_stage()
        lease = self._lease
        full, self._full = self._full, []
        for batch in full:
            write(self._context, self._broker.split, lease.pool, lease.id, lease.fence, self._count, batch)
            self._count += len(batch)
            if self._context.cancelled:
                self._context.cancel()

    def end(self) -> int:
        """Write the rest, and return the number of chunks."""
        if self._expected is not None:
            self._differs = True
        elif self._batch:
            self._full.append(self._batch)
            self._batch = []
        self.flush()
        if self._batch:  # chunks that differed from a stage, and are not a full batch
            return self.end()
        return self._count

    def _collect(self, data: bytes) -> None:
        """Add a chunk to the batch. Complete the batch when it is full, or about one second old."""
        if self._batch and self._size + len(data) > BATCH_BYTES:
            self._complete()
        if not self._batch:
            self._begun = monotonic()
        self._batch.append(data)
        self._size += len(data)
        if len(self._batch) == BATCH_CHUNKS or monotonic() - self._begun >= BATCH_SECONDS:
            self._complete()

    def _complete(self) -> None:
        self._full.append(self._batch)
        self._batch, self._size = [], 0

    def _compare(self, data: bytes, end: int, told: str) -> bool:
        """Whether a stage is complete, or differs: a stage of more bytes was never written at once."""
        self._batch.append(data)
        self._size += len(data)
        is_whole = len(self._batch) == end - self._count
        is_too_large = self._size > BATCH_BYTES and len(self._batch) > 1
        self._differs = (is_whole and digest(self._batch) != told) or (is_too_large and not is_whole)
        return is_whole or self._differs

    def _next_stage(self) -> None:
        """The compared stage is equal, or there was none yet."""
        if self._expected is not None:
            self._count = self._expected[0]
        self._batch, self._size = [], 0
        self._expected = next(self._stages, None)
        if self._expected is None and self._count < self._written:
            self._begin_anew()
        elif self._expected is None:
            self._tell(f"an earlier attempt wrote the first {self._count:,} chunks: the map continues after them")

    def _begin_anew(self) -> None:
        """Delete the stored stages from here on; chunks taken from the stage that differs are written first."""
        self._tell(
            "the map does not yield the chunks that an earlier attempt wrote: "
            f"those from {self._count:,} on are written again"
        )
        lease = self._lease
        write(self._context, self._broker.make_room, lease.pool, lease.id, lease.fence, self._count)
        taken, self._batch, self._size = self._batch, [], 0
        self._expected, self._differs = None, False
        for data in taken:
            self._collect(data)

    def _tell(self, text: str) -> None:
        self._context.log(text)


def _checked(name: str, chunks: Any) -> Iterable[Any]:
    if isinstance(chunks, (str, bytes, Mapping)) or not isinstance(chunks, Iterable):
        raise BadChunks(name=name, type="nothing" if chunks is None else with_article(type(chunks).__name__))
    return chunks


def _heeding(chunks: Iterator[Any], context: Context) -> Iterator[Any]:
    """The chunks as a generator; a cancel takes effect between two chunks."""
    for chunk in chunks:
        yield chunk
        if context.cancelled:
            context.cancel()


async def _each(chunks: Iterable[Any]) -> AsyncIterator[Any]:
    for chunk in chunks:
        yield chunk
