"""Find box: tasks by id or its beginning, and names, lanes, workers, errors and schedules by a part of theirs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from console.pages.schedules import schedule_appearance
from console.ui.links import chunk_of, task_url, url
from console.ui.render import page
from queueops import inspect
from queueops.inspect import FilterError, TaskQuery, TaskRow

MOST = 20
"""The most hits of one kind."""
LONGEST = 200


class Hit(NamedTuple):
    """Something that was found: its name, more about it, and its page."""

    text: str
    url: str
    more: str = ""
    state: str = ""


class Group(NamedTuple):
    """The hits of one kind."""

    label: str | Promise
    hits: list[Hit]


def find(request: HttpRequest) -> HttpResponse:
    """The page of the hits; a task of this id, or a single hit, is opened at once."""
    text = request.GET.get("q", "").strip()[:LONGEST]
    if not text:
        return redirect("console:tasks")
    if ref := chunk_of(text):
        tasks, chunk = _tasks(ref.task), True
    else:
        tasks, chunk = _tasks(text), False
    if len(tasks) == 1:
        (task,) = tasks
        return redirect(task_url(text if chunk else task.id, task.pool))
    begun = inspect.tasks_with_prefix(text, MOST)
    named = [Group(_("Tasks"), [_of_task(row) for row in tasks or begun.rows]), *_others(text.casefold())]
    groups = [group for group in named if group.hits]
    hits = [hit for group in groups for hit in group.hits]
    if len(hits) == 1:
        return redirect(hits[0].url)
    context = {
        "text": text,
        "sought": text,
        "groups": groups,
        "partial": begun.partial and not tasks,
        "broken": begun.broken,
    }
    return page(request, "find.html", context, status=200 if hits else 404)


def _tasks(id: str) -> tuple[TaskRow, ...]:
    """The tasks of this id, one in each pool that has it."""
    try:
        return inspect.tasks(TaskQuery(id=id)).rows
    except FilterError:
        return ()


def _of_task(row: TaskRow) -> Hit:
    return Hit(row.id, task_url(row.id, row.pool), row.name, row.state)


def _others(part: str) -> Iterator[Group]:
    """The hits that are not tasks."""
    facets = inspect.facets(TaskQuery())
    names = {name for name, _count in facets.get("name", [])}
    names |= {known.name for known in inspect.registry()}
    found = sorted(name for name in names if part in name.casefold())
    yield Group(_("Names"), [Hit(name, url("registry-task", id=name)) for name in found[:MOST]])
    pools = sorted(pool for pool, _count in facets.get("pool", []) if part in pool.casefold())
    yield Group(_("Pools"), [Hit(pool, url("pool", pool=pool)) for pool in pools[:MOST]])
    yield Group(_("Lanes"), list(islice(_lanes(part), MOST)))
    yield Group(_("Workers"), list(islice(_workers(part), MOST)))
    yield Group(_("Errors"), list(islice(_errors(part), MOST)))
    yield Group(_("Schedules"), list(islice(_schedules(part), MOST)))


def _lanes(part: str) -> Iterator[Hit]:
    for lane, pool in sorted({(row.lane, row.pool) for row in inspect.lanes()}):
        if part in lane.casefold():
            yield Hit(lane, url("lane", pool=pool, lane=lane), pool)


def _workers(part: str) -> Iterator[Hit]:
    for row in inspect.workers():
        if part in f"{row.id} {row.host}".casefold():
            yield Hit(row.id, url("worker", id=row.id), row.host)


def _errors(part: str) -> Iterator[Hit]:
    for row in inspect.errors():
        if part in row.type.casefold() or part == row.fingerprint:
            yield Hit(row.type, url("error", fingerprint=row.fingerprint), row.name)


def _schedules(part: str) -> Iterator[Hit]:
    for row in inspect.schedules():
        if part in f"{row.id} {row.task}".casefold():
            yield Hit(row.id, schedule_appearance.address(row), row.task)
