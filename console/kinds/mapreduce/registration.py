"""Registration of map-reduce in the console: the pages of chunks, their tab, and their counts in the overview."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from console.access.permissions import Verb
from console.kinds.mapreduce import chunk_actions
from console.kinds.mapreduce.chunk_links import PARTS
from console.kinds.mapreduce.pages import act_on_chunks, chunk_edits, chunk_list, chunks, retry_listed
from console.kinds.mapreduce.pieces import PIECES
from console.kinds.mapreduce.template_tags import register
from console.kinds.mapreduce.verbs import NOTES, VERBS, lost_by_edit, offer
from console.ui.exported import Exported
from console.ui.kind_pages import KindPages, Remedy, Route, StatePages, Tab
from console.ui.links import url

TASK = "mapreduce/<name:id>/"
CHUNK = f"{TASK}<int:number>/"


def _viewed(pattern: str, view: Any, name: str) -> Route:
    return Route(pattern=pattern, view=view, name=name, permission=Verb.VIEW)


def _edited(pattern: str, view: Any, name: str) -> Route:
    return Route(pattern=pattern, view=view, name=name, permission=Verb.SEE_ARGUMENTS)


def _saved(pattern: str, view: Any, name: str, verb: str) -> Route:
    return Route(pattern=pattern, view=view, name=name, permission=Verb.OPERATE, takes_arguments=True, verb=verb)


PAGES = KindPages(
    records=("mapreduce",),
    worker_words={
        "mapped": pgettext_lazy("line of a log", "mapped"),
        "gathered": pgettext_lazy("line of a log", "gathered"),
        "second run": pgettext_lazy("line of a log", "second run"),
    },
    tabs=(Tab(name="chunks", label=_("Chunks")),),
    routes=(
        _viewed("tasks/<name:id>/chunks/", chunks.show, "task-chunks"),
        Route(pattern="mapreduce/", view=chunk_list.index, name="chunks", permission=Verb.VIEW, section="tasks"),
        Route(
            pattern="mapreduce/_retry",
            view=retry_listed.retry,
            name="chunks-retry",
            permission=Verb.OPERATE,
            verb="retry_chunks",
        ),
        _viewed(TASK, chunks.show, "task-mapreduce"),
        _viewed(f"{TASK}_live", chunks.live, "task-chunks-live"),
        _viewed(f"{TASK}_rows", chunks.rows, "task-chunks-rows"),
        *(
            Route(
                pattern=f"{TASK}_{verb}",
                view=act_on_chunks.act,
                name=f"task-chunks-{verb}",
                permission=Verb.OPERATE,
                given={"verb": verb},
                verb=action.verb,
            )
            for verb, action in chunk_actions.ACTIONS.items()
        ),
        Route(
            pattern=f"{TASK}_restart",
            view=act_on_chunks.restart,
            name="task-chunks-restart",
            permission=Verb.OPERATE,
            verb="restart",
        ),
        _edited(f"{TASK}edit/", chunk_edits.edit, "task-chunks-edit"),
        _saved(f"{TASK}_edit", chunk_edits.save, "task-chunks-edit-save", "set_chunks"),
        _viewed(CHUNK, chunks.one, "task-chunk"),
        _viewed(f"{CHUNK}_live", chunks.one_live, "task-chunk-live"),
        _edited(f"{CHUNK}edit/", act_on_chunks.edit, "task-chunk-edit"),
        _saved(f"{CHUNK}_edit", act_on_chunks.save, "task-chunk-edit-save", "edit_chunks"),
    ),
    pieces=PIECES,
    parts=PARTS,
    lost_by_edit=lost_by_edit,
    usual={"mapreduce": ("pending", "mapping", "aggregating", "reducing", "succeeded", "failed")},
    states={
        "mapping": StatePages(
            icon="arrows-split-2",
            meaning=_("a worker runs its map"),
            label=pgettext_lazy("state", "mapping"),
            wide=(170, 318),
            narrow=(58, 366),
        ),
        "aggregating": StatePages(
            icon="stack-2",
            meaning=_("waits for its chunks"),
            label=pgettext_lazy("state", "aggregating"),
            wide=(376, 318),
            narrow=(170, 366),
        ),
        "reducing": StatePages(
            icon="arrows-join-2",
            meaning=_("a worker runs its reduce"),
            label=pgettext_lazy("state", "reducing"),
            wide=(572, 318),
            narrow=(282, 366),
        ),
    },
    ways="pending>mapping mapping>aggregating aggregating>pending pending>reducing reducing>succeeded",
    tags=register,
    verbs=VERBS,
    exports={
        "chunks": Exported(
            (
                *("pool", "id", "number", "name", "state", "attempt", "crashes", "worker", "reason", "error"),
                *("begun_ms", "ended_ms", "due_ms"),
            ),
            chunk_list.pages,
        )
    },
    notes=NOTES,
    remedies={
        "retry_chunks": Remedy(
            "task-chunks-retry",
            _("Retry failed chunks"),
            lambda _pool, id: url("task-chunks-retry", {"whole": ["errored", "failed"]}, id=id),
        )
    },
    offer=offer,
    facts={"chunks": _("Chunks"), "whole": _("Chunks: all that are")},
)
