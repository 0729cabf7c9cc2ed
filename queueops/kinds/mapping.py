"""What a map yields becomes chunks, a stage at a time; what an earlier attempt wrote is not written again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from time import monotonic
from typing import Any

from queueops.context import Context
from queueops.encoding import encode_result, with_article
from queueops.errors import BadChunks, TooManyChunks
from queueops.kinds.writing import write
from queueops.redis.broker import RedisBroker
from queueops.redis.chunking import digest

MOST_CHUNKS = 10_000_000
"""Chunks of one task."""
BATCH_CHUNKS, BATCH_BYTES, BATCH_SECONDS = 250, 256 * 1024, 1.0
"""A stage is a batch of chunks: a call of the store stays short, memory flat, and progress is seen."""


def write_chunks(broker: RedisBroker, context: Context, name: str, chunks: Any) -> int:
    """Write the chunks of a map, and answer how many they are.

    Stages that an earlier attempt wrote stay as they are while the map yields the same chunks in the same order; from
    the first one that differs on all is written anew, and the log says so. Cancels the task between two chunks when
    that was asked for. Raises NotEncodable, PayloadTooLarge, BadChunks, TooManyChunks and StaleLease.
    """
    lease = context.lease
    found = _encoded(name, _until_cancelled(chunks, context))
    written = write(context, broker.begin_map, lease.pool, lease.id, lease.fence)
    stages = broker.written_stages(lease.pool, lease.id) if written else ()
    count, rest = _skip(found, stages)
    if written:
        _tell(context, written, count)
    if count < written:
        write(context, broker.make_room, lease.pool, lease.id, lease.fence, count)
    for batch in _batches(chain(rest, found)):
        write(context, broker.split, lease.pool, lease.id, lease.fence, count, batch)
        count += len(batch)
        if context.cancelled:
            context.cancel()
    return count


def _skip(found: Iterator[bytes], stages: Iterable[tuple[int, str]]) -> tuple[int, list[bytes]]:
    """How many chunks are the same as before, in whole stages; and those that were taken of the stage that differs."""
    count = 0
    for end, told in stages:
        stage: list[bytes] = []
        size = 0
        for data in islice(found, end - count):
            stage.append(data)
            size += len(data)
            if size > BATCH_BYTES and len(stage) > 1:
                break  # so much was never written at once; and it need not be held
        if len(stage) != end - count or digest(stage) != told:
            return count, stage
        count = end
    return count, []


def _tell(context: Context, written: int, count: int) -> None:
    if count == written:
        context.log(f"an earlier attempt wrote the first {count:,} chunks: the map goes on behind them")
        return
    context.log(
        f"the map does not yield the chunks that an earlier attempt wrote: those from {count:,} on are written anew"
    )


def _batches(found: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Batches of bounded number and size, none of which waits much longer than a second."""
    batch: list[bytes] = []
    size, begun = 0, monotonic()
    for data in found:
        if batch and size + len(data) > BATCH_BYTES:
            yield batch
            batch, size, begun = [], 0, monotonic()
        batch.append(data)
        size += len(data)
        if len(batch) == BATCH_CHUNKS or monotonic() - begun >= BATCH_SECONDS:
            yield batch
            batch, size, begun = [], 0, monotonic()
    if batch:
        yield batch


def _encoded(name: str, chunks: Any) -> Iterator[bytes]:
    if isinstance(chunks, (str, bytes, Mapping)) or not isinstance(chunks, Iterable):
        raise BadChunks(name=name, type="nothing" if chunks is None else with_article(type(chunks).__name__))
    for number, chunk in enumerate(chunks):
        if number == MOST_CHUNKS:
            raise TooManyChunks(name=name, limit=MOST_CHUNKS)
        yield encode_result(name, chunk, f"chunk {number}")


def _until_cancelled(chunks: Any, context: Context) -> Any:
    """The chunks as a generator makes them; each is a good moment to be cancelled."""
    return _heeding(chunks, context) if isinstance(chunks, Iterator) else chunks


def _heeding(chunks: Iterator[Any], context: Context) -> Iterator[Any]:
    for chunk in chunks:
        yield chunk
        if context.cancelled:
            context.cancel()
