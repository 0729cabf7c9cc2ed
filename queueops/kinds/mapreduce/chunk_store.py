"""Chunk store: what a map and a reduce call of the broker of this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from queueops.model.ports import offered
from queueops.redis import broker as brokers


@runtime_checkable
class ChunkStore(Protocol):
    """Component that stores the chunks of map-reduce tasks."""

    def begin_map(self, pool: str, task_id: str, fence: int) -> int:
        """How many chunks of an earlier attempt of this map exist; all others are deleted. Raises StaleLease."""

    def make_room(self, pool: str, task_id: str, fence: int, first: int = 0) -> None:
        """Delete the chunks from number ``first`` on, where a stage begins. Raises StaleLease."""

    def split(self, pool: str, task_id: str, fence: int, first: int, data: Sequence[bytes]) -> None:
        """Write the next stage of a running map, numbered from ``first``. Raises StaleLease."""

    def written_stages(self, pool: str, task_id: str) -> Iterator[tuple[int, str]]:
        """The stages written by a map that has not ended: the number after each one's last chunk, and its digest."""

    def chunk_counts(self, pool: str, task_id: str) -> dict[str, int]:
        """How many chunks are in each state."""

    def chunk_numbers(self, pool: str, task_id: str, state: str, start: int = 0, count: int = 500) -> list[int]:
        """The numbers of the chunks in a state, in order, from the ``start``-th on."""

    def chunk_results(self, pool: str, task_id: str, count: int) -> Iterator[bytes]:
        """The results of the first ``count`` chunks, in order."""

    def chunk_result_pages(self, pool: str, task_id: str, count: int) -> Iterator[list[bytes]]:
        """The same in pages, one for each round trip."""


def get_chunk_store() -> ChunkStore:
    """The broker of this process. Raises NotOffered."""
    store: ChunkStore = offered(brokers.get_broker(), ChunkStore, "mapreduce")
    return store
