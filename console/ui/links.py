"""Links: the URLs of tasks, chunks and alarms."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from django.urls import URLResolver, get_resolver, get_script_prefix, get_urlconf, reverse
from django.utils.http import urlencode
from django.utils.translation import get_language

from console.ui.kind_pages import kind_pages
from queueops.inspect import Alarm

TOLD = ("tasks", "lanes", "workers", "errors", "commands", "schedules")
"""Pages that an alarm may lead to, beside those of the kinds."""
CHUNK = re.compile(r"(?P<task>[^#]+)#(?P<number>[0-9]{1,9})~?")
"""The engine's id of a chunk in heartbeats and errors."""


class ChunkRef(NamedTuple):
    """The task's id and the number of one of its chunks."""

    task: str
    number: int


def url(name: str, query: Mapping[str, Any] | None = None, **kwargs: Any) -> str:
    """The URL of this name, with the parameters that are not empty."""
    given = (get_resolver(get_urlconf()), get_script_prefix(), get_language())
    return with_query(_reversed(*given, f"console:{name}", tuple(kwargs.items())), query or {})


@lru_cache(maxsize=4096)
def _reversed(
    _resolver: URLResolver, _prefix: str, _language: str | None, name: str, kwargs: tuple[tuple[str, Any], ...]
) -> str:
    """Django's `reverse`, kept by all that it depends on: a list has several URLs a row, and is read each second."""
    return reverse(name, kwargs=dict(kwargs))


def with_query(address: str, query: Mapping[str, Any]) -> str:
    """The address with the parameters that are not empty."""
    given = {key: value for key, value in query.items() if value}
    return f"{address}?{urlencode(given, doseq=True)}" if given else address


def chunk_of(id: str) -> ChunkRef | None:
    """The chunk that the id names; None if it names a task. A second run counts as the chunk itself."""
    found = CHUNK.fullmatch(id)
    return ChunkRef(found["task"], int(found["number"])) if found else None


def task_url(id: str, pool: str = "", name: str = "task", **more: Any) -> str:
    """The URL of a task's page, or of one of its tabs or actions; the pool distinguishes tasks of the same id.

    For an id `<task>#<number>` it is the chunk's page.
    """
    if ref := chunk_of(id):
        return chunk_url(ref.task, pool, ref.number)
    return url(name, {"pool": pool, **more}, id=id)


def alarm_url(alarm: Alarm) -> str:
    """The URL of the page with more about an alarm; empty if there is none."""
    name, _, query = alarm.url_hint.partition("?")
    given = dict(parse_qsl(query))
    if name == "name":
        return url("registry-task", id=given["id"])
    if name == "why":
        return task_url(given["id"], given["pool"], "task-why")
    name = name.strip("/")
    of_kinds = {item[0] for pages in kind_pages() for item in pages.navigation}
    return url(name, given) if name in of_kinds.union(TOLD) else ""


def chunks_url(id: str, pool: str = "", name: str = "task-chunks", **more: str) -> str:
    """The URL of a map-reduce task's chunks, or of an action on them."""
    return task_url(id, pool, name, **more)


def chunk_url(id: str, pool: str, number: int, name: str = "task-chunk") -> str:
    """The URL of one chunk, or of an action on it."""
    return url(name, {"pool": pool}, id=id, number=number)


def tab_url(id: str, pool: str, tab: str) -> str:
    """The URL of one of a task's tabs."""
    return task_url(id, pool, "task" if tab == "summary" else f"task-{tab}")
