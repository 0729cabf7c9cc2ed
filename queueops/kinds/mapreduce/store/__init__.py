"""Store of map-reduce: the broker's calls about chunks, and the queries about them."""

from __future__ import annotations

from queueops.kinds.mapreduce.store.actions import ChunkActionCalls
from queueops.kinds.mapreduce.store.storage import ChunkCalls


class MapReduceCalls(ChunkCalls, ChunkActionCalls):
    """The role that map-reduce adds to the broker."""
