"""Operations about the system: health, readiness and statistics."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Router

from queueops import inspect
from queueops.inspect import TaskQuery
from queueops.kinds.jobs.api.authentication import Bearer
from queueops.kinds.jobs.api.problems import Problem
from queueops.kinds.jobs.api.schemas import Health, Statistics
from queueops.kinds.jobs.api_tokens import Scope
from queueops.kinds.jobs.callbacks.callback_plans import CALLBACK
from queueops.kinds.jobs.callbacks.callback_states import CALLBACK_STATES, callback_word
from queueops.kinds.jobs.store import JOB
from queueops.kinds.jobs.submission import JOB_STATES

router = Router(tags=["status"])
POOL = "default"
KEPT_S = 1.0
"""So long one reading of the alarms and the workers serves all requests of a process."""


@router.get("/health", response=Health, operation_id="health", summary="Check that the process answers")
def health(request: HttpRequest) -> Any:
    """Whether this process answers. It asks no store, and needs no token."""
    return {"status": "ok"}


@router.get("/ready", response=Health, operation_id="ready", summary="Check that jobs can be submitted")
def ready(request: HttpRequest) -> Any:
    """Whether jobs can be handed in: the store answers, and no maintenance is on. It needs no token."""
    if inspect.maintenance() is not None:
        raise Problem(503, "The maintenance is on.")
    return {"status": "ok"}


@router.get(
    "/statistics",
    auth=Bearer(Scope.READ),
    response=Statistics,
    operation_id="statistics",
    summary="Count jobs and callbacks by state",
)
def statistics(request: HttpRequest) -> Any:
    """Jobs and callbacks by state, what the workers have counted, their number, and the alarms of the console."""
    return {
        "jobs": _jobs(),
        "callbacks": _callbacks(),
        "workers": len(inspect.workers()),
        "counts": inspect.job_counts(POOL),
        "alarms": [alarm.text for alarm in inspect.status(KEPT_S).alarms],
    }


def _jobs() -> dict[str, int]:
    """Jobs by the states that they can have; another state of a record is named only if some are in it."""
    return {state: count for state, count in _by_state(JOB).items() if count or state in JOB_STATES}


def _callbacks() -> dict[str, int]:
    """Callbacks by their own words for states; another state of a record is named only if some are in it."""
    found = _by_state(CALLBACK).items()
    return {callback_word(state): count for state, count in found if count or state in CALLBACK_STATES.values()}


def _by_state(kind: str) -> dict[str, int]:
    return {state: count or 0 for state, count in inspect.facets(TaskQuery(kind=kind))["state"]}
