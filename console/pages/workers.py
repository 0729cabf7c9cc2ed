"""Worker pages: the worker processes, and the actions on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from console.actions.catalog import Action
from console.actions.perform import answer
from console.actions.selection import Thing
from console.pages import history
from console.ui.links import url
from console.ui.list_order import natural
from console.ui.narrowed import Columns, narrowed
from console.ui.render import fragment, live_update, page
from queueops import control, inspect
from queueops.inspect import WorkerRow

ACTIONS: dict[str, Action] = {
    "quiet": Action(
        "quiet",
        lambda _pool, id, **_: control.quiet_worker(id),
        gettext_lazy("Quiet"),
        "volume-off",
        asks_first=True,
        note=gettext_lazy(
            "The worker finishes its running tasks and claims no new tasks. It stays quiet until it is stopped."
        ),
        url="worker-quiet",
    ),
    "stop": Action(
        "stop",
        lambda _pool, id, **_: control.stop_worker(id),
        gettext_lazy("Stop"),
        "power",
        asks_first=True,
        note=gettext_lazy(
            "The worker claims no new tasks. Running tasks may end within its grace time. Then they are"
            " interrupted and return to their lanes, without counting an attempt. QueueOps does not start another"
            " worker in its place."
        ),
        url="worker-stop",
    ),
    "stacks": Action(
        "stacks",
        lambda _pool, id, **_: control.dump_stacks(id),
        gettext_lazy("Ask for stacks"),
        "list-details",
        note=gettext_lazy("The worker stores what each of its threads runs now. Its tasks go on."),
        url="worker-stacks",
    ),
}


COLUMNS: Columns[WorkerRow] = Columns(
    words=lambda worker: (
        worker.id, worker.host, str(worker.pid), worker.state, worker.version, *worker.pools, *worker.lanes,
        *(task.name for task in worker.running),
    ),
    keys={
        "worker": lambda worker: natural(worker.id),
        "condition": lambda worker: worker.state,
        "busy": lambda worker: worker.busy,
        "memory": lambda worker: worker.rss,
        "beat": lambda worker: worker.beat_ms,
    },
)  # fmt: skip


def index(request: HttpRequest) -> HttpResponse:
    """All workers."""
    return page(request, "workers/page.html", _context(request))


def rows(request: HttpRequest) -> HttpResponse:
    """The live update of all workers."""
    return fragment(request, "workers/rows.html", _context(request))


def act(request: HttpRequest, id: str, verb: str) -> HttpResponse:
    """Ask a worker for its stacks, or quiet or stop it once the user has confirmed it: the console cannot undo that."""
    rows = inspect.workers()
    was = next((row for row in rows if row.id == id), None)
    if was is None:
        raise Http404
    effects = () if verb == "stacks" else _side_effects(was, rows)
    worker = Thing.named("", id, {"state": was.state}, {"told": verb}, effects)
    return answer(request, ACTIONS[verb], worker, "workers")


def _side_effects(worker: WorkerRow, all_of_them: Sequence[WorkerRow]) -> tuple[str, ...]:
    """The running tasks of the worker, and the pools that would have no worker left."""
    others = [row for row in all_of_them if row.id != worker.id and row.state == "live"]
    alone = [pool for pool in worker.pools if not any(pool in row.pools for row in others)]
    told = []
    if worker.busy:
        told.append(
            ngettext("The worker runs %(n)d task now.", "The worker runs %(n)d tasks now.", worker.busy)
            % {"n": worker.busy}
        )
    if alone:
        text = _("No other live worker serves %(pools)s: tasks there keep waiting.")
        told.append(text % {"pools": ", ".join(alone)})
    return tuple(told)


def _context(request: HttpRequest) -> dict[str, Any]:
    found = inspect.workers()
    shown = narrowed(url("workers"), request.GET, found, COLUMNS)
    workers = inspect.Listing(shown.rows, found.broken)
    trends = inspect.trends(
        workers=[(worker.pools[0], worker.id) for worker in workers if worker.pools], max_age_s=history.READING_AGE_S
    )
    update = live_update(url("workers-rows"), workers, workers.broken, trends.all, **shown.params)
    versions = {worker.version for worker in found}
    return {"workers": workers, "list": shown, "trends": trends, "versions": versions, **update}
