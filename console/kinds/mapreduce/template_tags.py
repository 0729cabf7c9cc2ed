"""Template tags for chunks: appearance, URLs, and the data of the chunk strip."""

from __future__ import annotations

from django import template
from django.utils.safestring import SafeString

from console.kinds.mapreduce import chunk_links
from console.kinds.mapreduce.chunk_appearance import label, look
from console.ui.badges import badge
from queueops.inspect import ChunkDetail, ChunkRow, ChunksView, Strip, TaskDetail
from queueops.kinds.mapreduce.states import ChunkState

register = template.Library()

register.simple_tag(chunk_links.chunks_url)
register.simple_tag(chunk_links.chunk_url)
register.simple_tag(look, name="chunk_look")
register.filter("chunk_label", label)


@register.simple_tag
def chunk_state(name: str) -> SafeString:
    """A chunk's state: icon, label and colour."""
    return badge(look(name), label(name))


@register.filter
def columns_text(strip: Strip) -> str:
    """The columns for `chunks.js`: one digit for each chunk (its state, 5 = gone), or counts by state."""
    if strip.width > 1:
        return ";".join(",".join(map(str, column)) for column in strip.columns)
    return "".join(str(column.index(1)) if any(column) else "5" for column in strip.columns)


@register.filter
def attempts_text(strip: Strip) -> str:
    """The failed attempts of each chunk; empty if there are none."""
    return ",".join(map(str, strip.attempts)) if any(strip.attempts) else ""


@register.filter
def span_of(end: int, first: int) -> int:
    """The number of chunks in the strip."""
    return end - first


@register.filter
def is_dropped(chunk: ChunkRow | ChunkDetail, task: TaskDetail) -> bool:
    """Whether the reduce goes without it: an operator dropped it, or it had failed when the reduce began."""
    return chunk.state == ChunkState.FAILED and (chunk.dropped or task.phase == "reduce")


@register.filter
def has_next(chunk: ChunkDetail) -> bool:
    """Whether another chunk may follow."""
    return chunk.of is None or chunk.number + 1 < chunk.of


@register.filter
def done_share(view: ChunksView) -> float:
    """The share of all chunks that is done, from 0 to 1."""
    return view.counts["done"] / view.total if view.total else 0.0
