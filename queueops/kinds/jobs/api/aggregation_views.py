"""Operations on aggregations: list, read and change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.http import HttpRequest
from ninja import Query, Router
from ninja.responses import Status

from queueops import control, inspect
from queueops.inspect import JobLane
from queueops.kinds.jobs.api import converters as converters  # registers the converter of the paths
from queueops.kinds.jobs.api.audit import recorded
from queueops.kinds.jobs.api.authentication import Bearer
from queueops.kinds.jobs.api.problems import Problem, refuse_unknown
from queueops.kinds.jobs.api.schemas import AggregationChange, AggregationsPage, ListFilter, ShownAggregation
from queueops.kinds.jobs.api_tokens import Scope
from queueops.kinds.jobs.http.net_guard import check_url, shown_url
from queueops.kinds.jobs.settings import of_jobs

router = Router(tags=["aggregations"])
POOL = "default"
"""The pool of all jobs that come over HTTP."""
SAME = ("pool", "rate", "paused", "draining", "ready", "delayed", "in_flight", "failed", "oldest_ms")


@router.get(
    "/aggregations",
    auth=Bearer(Scope.READ),
    response=AggregationsPage,
    operation_id="list_aggregations",
    summary="List aggregations, the last used first",
)
def listed(request: HttpRequest, filter: Query[ListFilter]) -> Any:
    """Aggregations, the last used first. `next` is the `after` of the next page."""
    refuse_unknown(request, ListFilter.model_fields)
    found = inspect.aggregations(POOL, filter.after, filter.limit)
    return {"aggregations": [_shown(row) for row in found.rows], "next": found.next}


@router.get(
    "/aggregations/{any:aggr_id}",
    auth=Bearer(Scope.READ),
    response=ShownAggregation,
    operation_id="read_aggregation",
    summary="Read one aggregation",
)
def read(request: HttpRequest, aggr_id: str) -> Any:
    """One aggregation: its limits, and its jobs by state."""
    return _shown(_aggregation(aggr_id))


@router.patch(
    "/aggregations/{any:aggr_id}",
    auth=Bearer(Scope.MANAGE),
    response=ShownAggregation,
    operation_id="change_aggregation",
    summary="Change limits and switches of an aggregation",
)
def change(request: HttpRequest, aggr_id: str, given: AggregationChange) -> Any:
    """Change limit, rate and proxy, pause or resume, drain or accept jobs. It takes effect with the next start.

    A proxy as it was read, with a mask in the place of its password, stays unchanged.
    """
    was, named = _aggregation(aggr_id), set(given.model_fields_set)
    if given.aggr_proxy == was.proxy:
        named.discard("aggr_proxy")  # as it was read: its password is not shown, and stays
    elif given.aggr_proxy:
        check_url(given.aggr_proxy, "proxy", of_jobs())
    limits = {NAMES[name]: getattr(given, name) for name in NAMES if name in named}
    if limits:
        before = {"limit": was.limit, "rate": was.rate}
        with _recorded(request, was, "set_lane", before, before | limits):
            control.set_aggregation(aggr_id, POOL, **limits)
    if "aggr_proxy" in named:
        with _recorded(request, was, "set_proxy", {"proxy": was.proxy}, {"proxy": shown_url(given.aggr_proxy)}):
            control.set_proxy(aggr_id, given.aggr_proxy, POOL)
    for field, verbs in SWITCHES.items():
        if field in named:
            verb, call = verbs[getattr(given, field)]
            with _recorded(request, was, verb, {field: getattr(was, field)}, {field: getattr(given, field)}):
                call(aggr_id, POOL)
    return _shown(_aggregation(aggr_id))


@router.delete(
    "/aggregations/{any:aggr_id}",
    auth=Bearer(Scope.MANAGE),
    response={204: None},
    operation_id="delete_aggregation",
    summary="Delete an aggregation without jobs",
)
def delete(request: HttpRequest, aggr_id: str) -> Any:
    """Delete an aggregation without jobs, with its settings. One with jobs is refused (409)."""
    was = _aggregation(aggr_id)
    before = {"limit": was.limit, "rate": was.rate, "proxy": was.proxy}
    with _recorded(request, was, "delete_aggregation", before, {}):
        control.delete_aggregation(aggr_id, POOL)
    return Status(204, None)


@contextmanager
def _recorded(
    request: HttpRequest, row: JobLane, verb: str, before: dict[str, Any], after: dict[str, Any]
) -> Iterator[None]:
    """The audit entry of one change of an aggregation."""
    with recorded(request, verb, target=f"{row.pool}/{row.lane}", before=before) as act:
        yield
        act.after, act.changed = after, 1


def _aggregation(id: str) -> JobLane:
    found = inspect.aggregation(id, POOL)
    if found is None:
        raise Problem(404, "There is no such aggregation.")
    return found


def _shown(row: JobLane) -> dict[str, Any]:
    return {"aggr_id": row.id, "aggr_limit": row.limit, "aggr_proxy": row.proxy} | {
        name: getattr(row, name) for name in SAME
    }


NAMES = {"aggr_limit": "limit", "rate": "rate"}
SWITCHES: dict[str, dict[bool, tuple[str, Callable[..., Any]]]] = {
    "paused": {True: ("pause", control.pause_aggregation), False: ("resume", control.resume_aggregation)},
    "draining": {True: ("drain_aggregation", control.drain_aggregation), False: ("accept_jobs", control.accept_jobs)},
}
"""Fields that are on or off, with the verb of the audit log and the call for each."""
