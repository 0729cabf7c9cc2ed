"""Inspection of map-reduce: questions about the chunks of one task, and about those of all tasks."""

from queueops.kinds.mapreduce.inspect.edits import EditedChunk, preview_edit
from queueops.kinds.mapreduce.inspect.figures import ChunkLane, chunk_lanes
from queueops.kinds.mapreduce.inspect.listing import ChunkList, ListedChunk, all_chunks
from queueops.kinds.mapreduce.inspect.overview import ChunkError, ChunksView, Skew, Straggler, chunks_of
from queueops.kinds.mapreduce.inspect.pages import ChunkPage, chunk, chunks, chunks_named
from queueops.kinds.mapreduce.inspect.rows import ChunkDetail, ChunkRow, chunk_verbs, stages
from queueops.kinds.mapreduce.inspect.strip import Strip

__all__ = [
    "ChunkDetail",
    "ChunkError",
    "ChunkLane",
    "ChunkList",
    "ChunkPage",
    "ChunkRow",
    "ChunksView",
    "EditedChunk",
    "ListedChunk",
    "Skew",
    "Straggler",
    "Strip",
    "all_chunks",
    "chunk",
    "chunk_lanes",
    "chunk_verbs",
    "chunks",
    "chunks_named",
    "chunks_of",
    "preview_edit",
    "stages",
]
