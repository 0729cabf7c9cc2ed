"""Chunk pages of a map-reduce task: picture and figures of all chunks, a list of them, and one chunk in full."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from console.access.permissions import Verb
from console.kinds.mapreduce.chunk_actions import STARTS, Start, allowed
from console.kinds.mapreduce.chunk_appearance import LOOKS
from console.kinds.mapreduce.chunk_links import chunk_url, chunks_url
from console.kinds.mapreduce.chunk_pictures import draw_bars, draw_chunks
from console.kinds.mapreduce.view_state import Place
from console.pages.task import find, tabs_of
from console.ui.render import Frame, fragment, live_update, page, version_of
from queueops import inspect
from queueops.inspect import ChunksView, FilterError, TaskDetail
from queueops.kinds.mapreduce.states import AGGREGATING
from queueops.model.explained import explained
from queueops.model.states import State

LIMIT = 50
AMENDABLE = ("errored", "failed")
WAITING = ("pending", "errored")


def show(request: HttpRequest, id: str) -> HttpResponse:
    """The page with the task, the picture of its chunks, and a list of them."""
    task, place = _mapreduce(request, id), Place.of(request)
    context = _at_a_glance(request, task, place)
    if place.column is not None:
        return redirect(_column_url(task, context["view"], place))
    try:
        context |= _list(request, task, context["view"], place)
    except FilterError as error:
        return page(request, "mapreduce/page.html", context | {"error": explained(error), "rows": ()}, status=400)
    return page(request, "mapreduce/page.html", context)


def live(request: HttpRequest, id: str) -> HttpResponse:
    """The live update of the picture and the figures, if they have changed."""
    return fragment(request, "mapreduce/layout.html", _at_a_glance(request, _mapreduce(request, id), Place.of(request)))


def rows(request: HttpRequest, id: str) -> HttpResponse:
    """The live update of the rows that the browser shows, if they have changed."""
    task, place = _mapreduce(request, id), Place.of(request)
    found = inspect.chunks_named(task.id, place.shown, task.pool)
    return fragment(request, "mapreduce/rows.html", _rows(request, task, found))


def one(request: HttpRequest, id: str, number: int) -> HttpResponse:
    """The page of one chunk: its data, its result, its attempts."""
    return page(request, "mapreduce/chunk.html", _chunk(request, id, number))


def one_live(request: HttpRequest, id: str, number: int) -> HttpResponse:
    """The live update of one chunk, if it has changed."""
    return fragment(request, "mapreduce/chunk_layout.html", _chunk(request, id, number))


def _mapreduce(request: HttpRequest, id: str) -> TaskDetail:
    task = find(request, id)
    if task.kind != "mapreduce":
        raise Http404
    return task


def _at_a_glance(request: HttpRequest, task: TaskDetail, place: Place) -> dict[str, Any]:
    view = inspect.chunks_of(task.id, task.pool, first=place.first, count=place.count)
    if view is None:
        raise Http404
    frame = Frame(request)
    shown = (view.counts, view.strip, view.errors, view.stragglers, view.per_second, view.moving, view.paused)
    version = version_of(task, shown)
    amendable = {state: view.counts[state] for state in AMENDABLE if view.counts[state]}
    may_retry = Verb.OPERATE in frame.may and "retry" in inspect.chunk_verbs("failed", task.state, view.phase)
    return {
        "task": task,
        "tab": "chunks",
        "tabs": tabs_of(task, frame),
        "view": view,
        "version": version,
        "here": chunks_url(task.id, task.pool, **place.params()),
        "live_url": chunks_url(task.id, task.pool, "task-chunks-live", **place.params(), v=version),
        "picture": draw_chunks(view.strip),
        "bars": draw_bars(view.pace),
        "legend": [
            (state, look, view.counts[state], chunks_url(task.id, task.pool, state=state, **place.range()))
            for state, look in LOOKS.items()
        ],
        "amendable": amendable,
        "retryable": sum(amendable.values()),
        "may_retry": may_retry,
        "may_edit": may_retry and Verb.SEE_ARGUMENTS in frame.may,
        "edit_url": "&whole=".join([chunks_url(task.id, task.pool, "task-chunks-edit"), *amendable]),
        "may_let_go": Verb.OPERATE in frame.may and task.state in (AGGREGATING, State.FAILED),
        "urgent": task.state in (AGGREGATING, State.FAILED),
        "starts": _starts(view) if Verb.OPERATE in frame.may else (),
        "nearby": _nearby(task, view),
    }


def _starts(view: ChunksView) -> list[Start]:
    """The stages from which the engine would restart the task."""
    stages = inspect.stages(view.state, view.phase, begun=view.begun, mapped=view.mapped, open=view.open)
    return [start for start in STARTS.values() if start.stage in stages]


def _list(request: HttpRequest, task: TaskDetail, view: ChunksView, place: Place) -> dict[str, Any]:
    state = place.state if place.state is not None else _worth_a_look(view)
    found = inspect.chunks(task.id, task.pool, state=state, error=place.error, after=place.after, limit=LIMIT)
    if found is None:
        raise Http404
    kept = {"state": state or "all", "error": place.error, **place.range()}
    return _rows(request, task, found.rows) | {
        "found": found,
        "state": state,
        "error_kind": place.error,
        "all_url": chunks_url(task.id, task.pool, state="all", **place.range()),
        "any_error_url": chunks_url(task.id, task.pool, state=state or "all", **place.range()),
        "first_url": chunks_url(task.id, task.pool, **kept) if place.after else "",
        "next_url": chunks_url(task.id, task.pool, **kept, after=found.next) if found.next else "",
        "actions": allowed(_verbs(state, view), Frame(request).may),
    }


def _rows(request: HttpRequest, task: TaskDetail, found: tuple[inspect.ChunkRow, ...]) -> dict[str, Any]:
    version = version_of(found)
    shown = ".".join(str(row.number) for row in found)
    selectable = Verb.OPERATE in Frame(request).may
    return {
        "task": task,
        "rows": found,
        "version": version,
        "selectable": selectable,
        "rows_url": chunks_url(task.id, task.pool, "task-chunks-rows", shown=shown, v=version),
    }


def _worth_a_look(view: ChunksView) -> str:
    """The list shown first: failed, errored or active chunks if there are any, else all."""
    return next((state for state in ("failed", "errored", "active") if view.counts[state]), "")


def _verbs(state: str, view: ChunksView) -> set[str]:
    """The actions that chunks of a state allow, or of any state."""
    states = (state,) if state else tuple(LOOKS)
    return {verb for one in states for verb in inspect.chunk_verbs(one, view.state, view.phase)}


def _column_url(task: TaskDetail, view: ChunksView, place: Place) -> str:
    """The URL of a column of the picture: its chunk, or the part of the picture with the chunks that share it."""
    strip, column = view.strip, place.column or 0
    number = min(max(0, strip.end - 1), strip.first + column * strip.width)
    if strip.width == 1:
        return chunk_url(task.id, task.pool, number)
    return chunks_url(task.id, task.pool, **Place.around(number, strip.width, view.total))


def _nearby(task: TaskDetail, view: ChunksView) -> dict[str, str]:
    """The URLs around a part of the picture: the whole, and the parts before and after it."""
    strip = view.strip
    size = strip.end - strip.first
    if not size or size >= view.total:
        return {}
    found = {"all": chunks_url(task.id, task.pool)}
    if strip.first:
        found["before"] = chunks_url(task.id, task.pool, first=str(max(0, strip.first - size)), count=str(size))
    if strip.end < view.total:
        found["behind"] = chunks_url(task.id, task.pool, first=str(strip.end), count=str(size))
    return found


def _chunk(request: HttpRequest, id: str, number: int) -> dict[str, Any]:
    task, frame = _mapreduce(request, id), Frame(request)
    chunk = inspect.chunk(task.id, number, task.pool) if number <= 10**9 else None
    if chunk is None:
        raise Http404
    findings = inspect.why(f"{task.id}#{number}", task.pool) if chunk.state in WAITING else ()
    return {
        "task": task,
        "chunk": chunk,
        "findings": findings,
        "here": chunk_url(task.id, task.pool, number),
        **live_update(chunk_url(task.id, "", number, "task-chunk-live"), task.state, chunk, findings, pool=task.pool),
        "actions": allowed(chunk.allowed, frame.may),
        "may_edit": "edit" in chunk.allowed and {Verb.OPERATE, Verb.SEE_ARGUMENTS} <= frame.may,
    }
