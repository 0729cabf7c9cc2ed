"""Find box: tasks by an id or its beginning; names, pools, lanes, workers and errors by a part of theirs.

Kinds add what they have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from console.ui import filters
from console.ui.kind_pages import Finder, Hit, finders, parts_of
from console.ui.links import task_url, url
from console.ui.pasted import pasted_id
from console.ui.render import Frame, one_of, page
from console.ui.state_badges import LABELS as STATE_LABELS
from console.ui.state_badges import label as state_label
from queueops import inspect
from queueops.inspect import FilterError, LookUp, NamedHit, TaskQuery, TaskRow, parse_filter
from queueops.inspect.filter_text import has_field
from queueops.model.states import table

MOST = 20
"""The most hits of one kind."""
LONGEST = 200
PAIR = re.compile(r"^(\w+)\s*=\s*(\S+)$")
"""One field and its value, with spaces."""
LONGEST_PASTED = 10_000


class HitsOfKind(NamedTuple):
    """What a kind has found."""

    finder: Finder
    hits: list[Hit]


class Group(NamedTuple):
    """The hits of one kind."""

    label: str | Promise
    hits: list[Hit]


def find(request: HttpRequest) -> HttpResponse:
    """The page of the hits; a task of this id, or a single hit, is opened at once."""
    given = request.GET.get("q", "").strip()[:LONGEST_PASTED]
    text = pasted_id(given) or given[:LONGEST]
    if not text:
        return redirect(url("tasks"))
    if filtered := filter_in(text):
        return redirect(filters.address(filtered))
    part = parts_of(text)
    found = inspect.look_up(text, MOST, id=part.task(text) if part else "")
    others = [row for each in found.others for row in each.rows]
    if len(found.tasks) == 1 and all(row.id == found.tasks[0].id for row in others):
        (task,) = found.tasks
        return redirect(task_url(text if part else task.id, task.pool))
    in_a_state = list(found_in_state(text, MOST, sees_arguments=Frame(request).sees_arguments))
    groups = [group for group in (*in_a_state, *grouped(found, text, hits_of_kinds(found, text))) if group.hits]
    hits = [hit for group in groups for hit in group.hits]
    if len(hits) == 1 and not in_a_state:
        return redirect(hits[0].url)
    context = {
        "text": text,
        "sought": text,
        "groups": groups,
        "partial": found.partial and not found.tasks,
        "broken": found.broken,
        "search_url": filters.address(TaskQuery(contains=text)) if Frame(request).sees_arguments else "",
        "ids": one_of([*(each.id for each in finders()), _("the number of a process")]),
        "things": one_of(
            [
                _("name"),
                _("tag"),
                _("pool"),
                _("lane"),
                _("worker"),
                _("error type"),
                *(each.thing for each in finders()),
            ]
        ),
    }
    return page(request, "find.html", context, status=200 if hits else 404)


def filter_in(text: str) -> TaskQuery | None:
    """The filter of a text such as `tag=customer-3` or `state:failed age>10m`; None for any other text."""
    text = PAIR.sub(r"\1=\2", text)
    if not has_field(text):
        return None
    with suppress(FilterError):
        return parse_filter(text)
    return None


def found_in_state(text: str, most: int, *, sees_arguments: bool) -> Iterator[Group]:
    """What a state and another text mean, such as `failed boom`: tasks in the state whose name, error or text fits."""
    if (named := state_in(text)) is None:
        return
    state, rest = named
    found = inspect.look_up(rest, most)
    narrowed = partial(TaskQuery, state=state)
    hits = [Hit(name, filters.address(narrowed(name=name)), gettext("name")) for name in found.names]
    for error in found.errors:
        hits.append(Hit(error.name, filters.address(narrowed(error=error.id)), error.about))
    hits += [Hit(tag, filters.address(narrowed(tag=tag)), gettext("tag")) for tag in found.tags]
    for lane in found.lanes:
        address = filters.address(narrowed(pool=lane.about, lane=lane.name))
        hits.append(Hit(lane.title or lane.name, address, gettext("lane")))
    if sees_arguments:
        hits.append(Hit(rest, filters.address(narrowed(contains=rest)), gettext("Search in arguments and ids")))
    yield Group(_("Tasks: %(state)s") % {"state": state_label(state)}, hits)


def state_in(text: str) -> tuple[str, str] | None:
    """The state that a word of a text names, in the words of filters or of this page, and the other words."""
    words = text.split()
    labels = {str(look).casefold(): state for state, look in STATE_LABELS.items() if state in table().states}
    for place, word in enumerate(words if len(words) > 1 else ()):
        with suppress(FilterError):
            query = parse_filter(f"state:{labels.get(word.casefold(), word.casefold())}")
            return query.state, " ".join((*words[:place], *words[place + 1 :]))
    return None


def hits_of_kinds(found: LookUp, text: str, most: int = MOST) -> list[HitsOfKind]:
    """What kinds find by a part of a name. What has the whole text as its id was meant, and no other one is sought."""
    return [
        HitsOfKind(finder, list(islice(finder.hits(text), most)))
        for finder in finders()
        if finder.hits is not None and not (finder.id and found.others)
    ]


def grouped(found: LookUp, text: str, of_kinds: Iterable[HitsOfKind]) -> Iterator[Group]:
    """The hits of each kind, also where there are none."""
    yield Group(_("Tasks"), [_of_task(row) for row in found.tasks or found.begun])
    told = {(row.pool, row.id) for row in found.tasks or found.begun}
    for other in found.others:
        yield Group(gettext(other.title), [_of_task(row) for row in other.rows if (row.pool, row.id) not in told])
    yield Group(_("Names"), [Hit(name, url("registry-task", id=name)) for name in found.names])
    yield Group(_("Tags"), [Hit(tag, filters.address(TaskQuery(tag=tag))) for tag in found.tags])
    yield Group(_("Pools"), [Hit(pool, url("pool", pool=pool)) for pool in found.pools])
    yield Group(_("Lanes"), [_of_lane(lane) for lane in found.lanes])
    yield Group(_("Workers"), [_of_worker(each) for each in found.workers])
    errors = (Hit(error.name, url("error", fingerprint=error.id), error.about) for error in found.errors)
    yield Group(_("Errors"), list(errors))
    yield from (Group(finder.title, hits) for finder, hits in of_kinds)


def _of_task(row: TaskRow) -> Hit:
    return Hit(row.id, task_url(row.id, row.pool), row.name, row.state)


def _of_lane(lane: NamedHit) -> Hit:
    return Hit(lane.title or lane.name, url("lane", pool=lane.about, lane=lane.name), lane.about)


def _of_worker(worker: NamedHit) -> Hit:
    told = [worker.about] if worker.about else []
    if worker.process:
        told.append(gettext("process %(number)s") % {"number": worker.process})
    if worker.ended:
        told.append(gettext("has ended"))
    return Hit(worker.name, url("worker", id=worker.name), ", ".join(told))
