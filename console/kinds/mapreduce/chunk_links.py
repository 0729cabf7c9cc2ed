"""Links of chunks: the URLs of a task's chunks and of one chunk, and the parts that errors and heartbeats name."""

from __future__ import annotations

import re
from typing import NamedTuple

from django.utils.translation import gettext as _

from console.ui.formatting import count
from console.ui.kind_pages import PartPages
from console.ui.links import task_url, url
from queueops import inspect
from queueops.inspect import ChunkDetail

CHUNK = re.compile(r"(?P<task>[^#]+)#(?P<number>[0-9]{1,9})~?")
"""The engine's id of a chunk in heartbeats and errors."""


class ChunkRef(NamedTuple):
    """The task's id and the number of one of its chunks."""

    task: str
    number: int


def chunk_of(id: str) -> ChunkRef | None:
    """The chunk that the id names; None if it names a task. A second run counts as the chunk itself."""
    found = CHUNK.fullmatch(id)
    return ChunkRef(found["task"], int(found["number"])) if found else None


def chunks_url(id: str, pool: str = "", name: str = "task-chunks", **more: str) -> str:
    """The URL of a map-reduce task's chunks, or of an action on them."""
    return task_url(id, pool, name, **more)


def chunk_url(id: str, pool: str, number: int, name: str = "task-chunk") -> str:
    """The URL of one chunk, or of an action on it."""
    return url(name, {"pool": pool}, id=id, number=number)


def _url(id: str, pool: str) -> str:
    ref = chunk_of(id)
    return chunk_url(ref.task, pool, ref.number) if ref else ""


def _read(id: str, pool: str) -> ChunkDetail | None:
    ref = chunk_of(id)
    return inspect.chunk(ref.task, ref.number, pool) if ref else None


PARTS = PartPages(
    task=lambda id: ref.task if (ref := chunk_of(id)) else "",
    url=_url,
    read=_read,
    waiting=lambda pool: pool.chunks_pending,
    active=lambda pool: pool.chunks_active,
    number=lambda number: _("%(n)s chunks") % {"n": count(number)},
)
