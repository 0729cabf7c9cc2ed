"""Operations that read: tasks, lanes, workers, errors, schedules and runs, as their pages in the console have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from django.http import HttpRequest
from ninja import Query

from queueops import inspect
from queueops.inspect import TaskQuery
from queueops.inspect.kind_details import OtherId
from queueops.kinds.jobs.api import converters as converters  # registers the converter of the paths
from queueops.kinds.jobs.api.of_tasks import shapes
from queueops.kinds.jobs.api.of_tasks.client import SEEN, router, told
from queueops.kinds.jobs.api.problems import Problem, refuse_unknown
from queueops.model.sentences import encodable


@router.get(
    "/tasks", auth=SEEN, response=shapes.Tasks, operation_id="list_tasks", summary="List tasks, the newest first"
)
def tasks(request: HttpRequest, filter: Query[shapes.TaskFilter]) -> Any:
    """Tasks that match a filter, the newest first. The fields are those of the list's URL in the console."""
    refuse_unknown(request, shapes.TaskFilter.model_fields)
    with told(request):
        found = inspect.tasks(TaskQuery.from_params(filter.model_dump()), filter.after, filter.limit)
        return _page(found.rows, found.broken, found.next, partial=found.partial)


@router.get(
    "/lanes", auth=SEEN, response=shapes.Lanes, operation_id="list_lanes", summary="List lanes with their limits"
)
def lanes(request: HttpRequest, filter: Query[shapes.InPool]) -> Any:
    """Lanes with their ready and running tasks and their limits, the latest used first. `limit` is not used."""
    refuse_unknown(request, shapes.InPool.model_fields)
    with told(request):
        found = inspect.lane_page(filter.pool, filter.after)
        return _page(found.rows, found.broken, found.next)


@router.get("/runs", auth=SEEN, response=shapes.Runs, operation_id="list_runs", summary="List runs of workflows")
def runs(request: HttpRequest, filter: Query[shapes.RunFilter]) -> Any:
    """Runs of workflows that match a filter, the newest first."""
    refuse_unknown(request, shapes.RunFilter.model_fields)
    with told(request):
        found = inspect.workflow_runs(**filter.model_dump())
        return _page(found.rows, found.broken, found.next, partial=found.partial)


WHOLE: tuple[tuple[str, Any, Callable[[], Any], str], ...] = (
    ("workers", shapes.Workers, lambda: inspect.workers(), "List worker processes"),
    ("errors", shapes.Errors, lambda: inspect.errors(shapes.MOST), "List errors by their fingerprint"),
    ("schedules", shapes.Schedules, lambda: inspect.schedules(), "List schedules and their runs"),
)
"""Lists that are read as a whole, in one page."""


def _whole(read: Callable[[], Any]) -> Callable[[HttpRequest], Any]:
    def listed(request: HttpRequest) -> Any:
        refuse_unknown(request, ())
        with told(request):
            found = read()
            return _page(found, found.broken)

    return listed


for name, schema, read, summary in WHOLE:
    router.get(f"/{name}", auth=SEEN, response=schema, operation_id=f"list_{name}", summary=summary)(_whole(read))


@router.get(
    "/tasks/{any:id}",
    auth=SEEN,
    response=shapes.TaskDetail,
    operation_id="read_task",
    summary="Read one task with its history",
)
def task(request: HttpRequest, id: str, pool: str = "") -> Any:
    """One task. Secrets are masked; without the scope `see_arguments` arguments, results and messages are missing."""
    refuse_unknown(request, ("pool",))
    with told(request):
        found = inspect.task(id, pool)
        if found is None:
            raise Problem(404, " ".join(("There is no task with this id.", *map(_told, inspect.other_ids(id)))))
        return msgspec.to_builtins(found, enc_hook=encodable)


def _told(other: OtherId) -> str:
    return f"It is {other.what}{f', with the task {other.task}' if other.task else ''}."


def _page(rows: Any, broken: Any, next: str = "", *, partial: bool = False) -> dict[str, Any]:
    missing = [str(each) for each in broken]
    return {
        "rows": msgspec.to_builtins(list(rows), enc_hook=encodable),
        "next": next,
        "partial": partial,
        "missing": missing,
    }
