"""Chunk actions: one entry for each verb, and the stages from which a task can be restarted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from console.actions.catalog import Action
from console.ui.forms import PostponeForm
from queueops import control
from queueops.control import Row

ACTIONS: dict[str, Action] = {
    "retry": Action(
        "retry_chunks",
        lambda id, **how: control.retry_chunks(id, **how),
        _("Retry"),
        "refresh",
        note=_("Runs the chunks again now. Their attempts are counted from zero."),
        url="task-chunks-retry",
    ),
    "postpone": Action(
        "postpone_chunks",
        lambda id, **how: control.postpone_chunks(id, **how),
        _("Postpone"),
        "calendar-time",
        PostponeForm,
        note=_("The next attempt of the chunk waits until that time."),
        url="task-chunks-postpone",
    ),
    "drop": Action(
        "drop_chunks",
        lambda id, **how: control.drop_chunks(id, **how),
        _("Drop"),
        "x",
        note=_("A dropped chunk has no result. The reduce runs without it."),
        url="task-chunks-drop",
    ),
    "skip": Action(
        "skip_chunks",
        lambda id, **how: control.skip_chunks(id, **how),
        _("Skip"),
        "chevron-right",
        note=_("The chunk counts as done, with None as its result."),
        url="task-chunks-skip",
    ),
    "release": Action(
        "release_chunks",
        lambda id, **how: control.release_chunks(id, **how),
        _("Release"),
        "door-exit",
        note=_("Takes the chunk from its worker. The chunk waits for another worker."),
        url="task-chunks-release",
    ),
    "speculate": Action(
        "speculate_chunks",
        lambda id, **how: control.speculate(id, **how),
        _("Start a second run"),
        "arrows-split-2",
        note=_("Runs the chunk a second time, in parallel. The first run to end gives the result."),
        url="task-chunks-speculate",
    ),
}


class Start(NamedTuple):
    """A restart: its name in the form, its texts, and the stage of `control.restart_from`."""

    name: str
    label: str | Promise
    title: str | Promise  # a complete sentence
    note: str | Promise
    stage: str
    every: bool = False
    irreversible: bool = False

    @property
    def action(self) -> Action:
        """The action on the task."""
        return Action(
            f"restart_{self.name}",
            self._restart,
            self.title,
            note=self.note,
            irreversible=self.irreversible,
            url="task-chunks-restart",
        )

    def _restart(self, ids: Sequence[str], *, pool: str, who: str, token: str) -> list[Row]:
        return [control.restart_from(id, self.stage, every=self.every, pool=pool, who=who) for id in ids]


STARTS: dict[str, Start] = {
    start.name: start
    for start in (
        Start(
            "reduce",
            _("From reduce"),
            _("Restart from reduce"),
            _("Runs the reduce again with the results of the chunks."),
            "reduce",
        ),
        Start(
            "failed",
            _("From process: failed chunks"),
            _("Restart the failed chunks"),
            _("Runs the failed chunks again, then the reduce."),
            "process",
        ),
        Start(
            "all",
            _("From process: all chunks"),
            _("Restart all chunks"),
            _("Runs all chunks again. Their results are deleted."),
            "process",
            every=True,
            irreversible=True,
        ),
        Start(
            "map",
            _("From map"),
            _("Restart from map"),
            _("Runs the map again. All chunks and all results are deleted."),
            "map",
            irreversible=True,
        ),
    )
}


def allowed(verbs: Iterable[str], may: frozenset[str]) -> list[Action]:
    """The actions for these verbs that the user's permissions allow."""
    verbs = set(verbs)
    return [action for verb, action in ACTIONS.items() if verb in verbs and action.permission in may]
