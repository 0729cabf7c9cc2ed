"""Verbs of chunks and of restarts, and what a retry of a map-reduce task runs."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from console.actions.catalog import Action
from console.ui.formatting import count
from console.ui.kind_pages import Loss, VerbWords
from queueops.inspect import TaskDetail, TaskFacts
from queueops.kinds.mapreduce.inspect import overview


def lost_by_edit(task: TaskDetail) -> Loss | None:
    """All chunks and their results: a map-reduce task with other arguments runs its map again."""
    if task.goes_on_at not in RETRIES:
        return None
    found = overview.counts_of(task.id, task.pool)
    if found is None or not (total := sum(found[1].values())):
        return None
    note = ngettext(
        "New arguments run the map again. The chunk and its result are deleted.",
        "New arguments run the map again. The %(n)s chunks and their results are deleted.",
        total,
    )
    advice = _("Type the number of chunks and a reason.")
    return Loss(count=total, note=note % {"n": count(total)}, advice=advice)


def _chunks(number: int) -> str:
    return ngettext("%(n)d chunk", "%(n)d chunks", number) % {"n": number}


VERBS: dict[str, VerbWords] = {
    "retry_chunks": VerbWords(label=_("Retry chunks"), phrase=_("Retry %(what)s"), counted=_chunks),
    "postpone_chunks": VerbWords(label=_("Postpone chunks"), phrase=_("Postpone %(what)s"), counted=_chunks),
    "drop_chunks": VerbWords(label=_("Drop chunks"), phrase=_("Drop %(what)s"), counted=_chunks, ends=True),
    "skip_chunks": VerbWords(label=_("Skip chunks"), phrase=_("Skip %(what)s"), counted=_chunks),
    "release_chunks": VerbWords(label=_("Release chunks"), phrase=_("Release %(what)s"), counted=_chunks),
    "speculate_chunks": VerbWords(
        label=_("Start second runs of chunks"), phrase=_("Start second runs of %(what)s"), counted=_chunks
    ),
    "edit_chunks": VerbWords(label=_("Edit a chunk"), counted=_chunks),
    "redo_chunks": VerbWords(label=_("Edit and retry chunks"), phrase=_("Edit and retry %(what)s"), counted=_chunks),
    "set_chunks": VerbWords(
        label=_("Set fields of chunks and retry"), phrase=_("Set fields and retry %(what)s"), counted=_chunks
    ),
    "restart": VerbWords(label=_("Restart from a stage")),  # of denied actions, for all stages
    "restart_map": VerbWords(label=_("Restart from map"), phrase=_("Restart from map, delete %(what)s")),
    "restart_all": VerbWords(label=_("Restart from process: all chunks"), phrase=_("Restart %(what)s")),
    "restart_failed": VerbWords(label=_("Restart from process: failed chunks"), phrase=_("Restart %(what)s")),
    "restart_reduce": VerbWords(label=_("Restart from reduce")),
}
NOTES = {"retry": _("A map-reduce task continues where it ended: at its failed chunks, or at its reduce.")}

RETRIES = {
    "process": (
        _("Retry failed chunks"),
        _("Runs the chunks that are not done, then the reduce. Done chunks keep their results."),
    ),
    "reduce": (_("Retry the reduce"), _("Runs the reduce again with the results of the chunks. No chunk runs again.")),
}
"""Label and note of a retry of an ended task, by the stage where it continues."""


def offer(task: TaskFacts, actions: dict[str, Action]) -> dict[str, Action]:
    """The actions on a map-reduce task: its retry says where it continues."""
    stage = task.goes_on_at if isinstance(task, TaskDetail) else ""
    if "retry" not in actions or stage not in RETRIES:
        return actions
    label, note = RETRIES[stage]
    return actions | {"retry": actions["retry"]._replace(label=label, note=note)}
