"""Links: the URLs of tasks, chunks and alarms."""

from __future__ import annotations

from urllib.parse import parse_qsl

from django.urls import reverse
from django.utils.http import urlencode

from console.kinds.mapreduce import refs
from queueops.inspect import Alarm

TOLD = ("tasks", "lanes", "workers", "errors", "commands")
"""Pages that an alarm may lead to."""


def task_url(id: str, pool: str = "", name: str = "task", **more: str) -> str:
    """The URL of a task's page, or of one of its tabs or actions; the pool distinguishes tasks of the same id.

    For an id `<task>#<number>` it is the chunk's page.
    """
    if ref := refs.read(id):
        return chunk_url(ref.task, pool, ref.number)
    address = reverse(f"console:{name}", kwargs={"id": id})
    params = {key: value for key, value in {"pool": pool, **more}.items() if value}
    return f"{address}?{urlencode(params)}" if params else address


def alarm_url(alarm: Alarm) -> str:
    """The URL of the page with more about an alarm; empty if there is none."""
    name, _, query = alarm.url_hint.partition("?")
    if (name := name.strip("/")) not in TOLD:
        return ""
    return reverse(f"console:{name}") + (f"?{urlencode(parse_qsl(query))}" if query else "")


def chunks_url(id: str, pool: str = "", name: str = "task-chunks", **more: str) -> str:
    """The URL of a map-reduce task's chunks, or of an action on them."""
    return task_url(id, pool, name, **more)


def chunk_url(id: str, pool: str, number: int, name: str = "task-chunk") -> str:
    """The URL of one chunk, or of an action on it."""
    address = reverse(f"console:{name}", kwargs={"id": id, "number": number})
    return f"{address}?{urlencode({'pool': pool})}" if pool else address


def tab_url(id: str, pool: str, tab: str) -> str:
    """The URL of one of a task's tabs."""
    return task_url(id, pool, "task" if tab == "summary" else f"task-{tab}")
