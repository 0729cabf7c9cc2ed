"""Actions on worker processes, and their side effects on running tasks and on pools."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from console.access.permissions import TABLE, Verb
from console.actions.catalog import Action
from queueops import control
from queueops.inspect import WorkerRow


class WorkerAction(Action):
    """An action; `call(id)` tells the worker, and returns whether the worker exists."""

    @property
    def permission(self) -> Verb | None:
        """The permission that the action needs."""
        return TABLE[f"worker-{self.verb}"]


ACTIONS: dict[str, WorkerAction] = {
    "quiet": WorkerAction(
        "quiet",
        gettext_lazy("Quiet"),
        "volume-off",
        lambda id: control.quiet_worker(id),  # type: ignore[arg-type,return-value]
        asks_first=True,
        note=gettext_lazy("It ends what it runs, takes nothing new, and stays so until it is stopped."),
    ),
    "stop": WorkerAction(
        "stop",
        gettext_lazy("Stop"),
        "power",
        lambda id: control.stop_worker(id),  # type: ignore[arg-type,return-value]
        asks_first=True,
        note=gettext_lazy(
            "It takes no new tasks. Tasks that it runs may end within its grace time, then they are interrupted and go"
            " back to their lanes, which costs no attempt. QueueOps does not start another worker in its place."
        ),
    ),
}


def told_before(worker: WorkerRow, all_of_them: Sequence[WorkerRow]) -> tuple[str, ...]:
    """The running tasks of the worker, and the pools that would have no worker left."""
    others = [row for row in all_of_them if row.id != worker.id and row.state == "live"]
    alone = [pool for pool in worker.pools if not any(pool in row.pools for row in others)]
    told = []
    if worker.busy:
        told.append(ngettext("It runs %(n)d task now.", "It runs %(n)d tasks now.", worker.busy) % {"n": worker.busy})
    if alone:
        text = _("No other live worker serves %(pools)s: what waits there waits on.")
        told.append(text % {"pools": ", ".join(alone)})
    return tuple(told)
