"""Classic routes: the HTTP interface of an older downloader, so that its clients need no change.

They answer with its status codes and in plain text: 400 for a request that is wrong, 500 if the store does not answer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from queueops import control, inspect, jobs
from queueops.errors import BrokerUnavailable, QueueOpsError, StoreFull
from queueops.errors.refusals import LibraryRefused
from queueops.inspect import JobLane, TaskQuery
from queueops.kinds.jobs import counters
from queueops.kinds.jobs.api.audit import recorded
from queueops.kinds.jobs.api.authentication import ANYONE, Bearer
from queueops.kinds.jobs.api.classic_fields import read_body
from queueops.kinds.jobs.api.head import as_get
from queueops.kinds.jobs.api.job_views import check_callbacks
from queueops.kinds.jobs.api.problems import Problem, text_of
from queueops.kinds.jobs.api_tokens import Scope
from queueops.kinds.jobs.settings import of_jobs
from queueops.kinds.jobs.store import JOB
from queueops.model.states import State

View = Callable[..., HttpResponse]
TEXT = "text/plain; charset=utf-8"
POOL = "default"
PAGE = 200
COUNTERS = {
    "processor": {
        "failures": counters.STORAGE,
        "invalidProxies": counters.BAD_PROXY,
        "reaperFailures": counters.NOT_DELETED,
        "reaperSuccessfulDeletions": counters.DELETED,
    },
    "notifier": {
        "successfulCallbacks": counters.DELIVERED,
        "failedCallbacks": counters.DEAD,
        "undefinedBackendWithCallback": counters.NO_SENDER,
        "unknownTopicOrPartition": counters.NO_TOPIC,
    },
}
"""Names of the older downloader, and the counters of this one."""
CODES = {422: 400}
"""Status codes that the older downloader did not have."""


def _route(method: str, scope: Scope | None) -> Callable[[View], View]:
    """A view for one method, with the answers to errors. The setting CLASSIC_OPEN permits requests without a token."""

    def decorate(view: View) -> View:
        @wraps(view)
        def answered(request: HttpRequest, *args: Any, **given: str) -> HttpResponse:
            if request.method != method:
                return _said(405, "Method Not Allowed", Allow=method)
            try:
                if scope is not None:
                    _authenticate(request, scope)
                return view(request, *args, **given)
            except Problem as problem:
                return _said(CODES.get(problem.status, problem.status), problem.detail, **problem.headers)
            except RequestDataTooBig:
                return _said(413, "The body is too large.")
            except (BrokerUnavailable, LibraryRefused, StoreFull):
                return _said(500, "The store takes no jobs now.")
            except QueueOpsError as error:
                return _said(400, text_of(error))

        exempt: View = csrf_exempt(as_get(answered))
        return exempt

    return decorate


@_route("POST", Scope.SUBMIT)
def download(request: HttpRequest) -> HttpResponse:
    """Hand in one job: 201 and its id."""
    options = read_body(request.body)
    check_callbacks(options)
    return JsonResponse({"id": jobs.submit(**options).id}, status=201)


@_route("POST", Scope.MANAGE)
def retry(request: HttpRequest, id: str) -> HttpResponse:
    """Send a callback again that is dead: 204. The job does not run again."""
    found = inspect.task(id)
    if found is None or found.kind != JOB:
        return _said(400, "There is no job with this id.")
    dead = [row.id for row in inspect.job_story(found).callbacks if row.state == State.FAILED]
    if not dead:
        return _said(400, "The job has no callback that has failed.")
    with recorded(request, "retry", pool=found.pool, ids=dead) as act:
        act.rows = control.redeliver_callbacks(dead, found.pool, who=act.who, token=act.token)
    if refused := [row.detail for row in act.rows if row.word not in ("OK", "REPEAT")]:
        return _said(400, refused[0])
    return HttpResponse(status=204)


@_route("GET", None)
def heartbeat(request: HttpRequest) -> HttpResponse:
    """200 and `OK`; 503 while the maintenance is on, or the store does not answer."""
    try:
        found = inspect.maintenance()
    except QueueOpsError:
        return _said(503, "Service disabled, the store does not answer!")
    return _said(200, "OK") if found is None else _said(503, "Service disabled, the maintenance is on!")


@_route("GET", Scope.READ)
def statistics(request: HttpRequest, part: str) -> HttpResponse:
    """Figures of the `processor` (jobs) or the `notifier` (callbacks): gauges, and what all workers have counted."""
    if part not in COUNTERS:
        return _said(404, "There are statistics of processor and notifier.")
    counts = inspect.job_counts(POOL)
    found = {"alive": int(bool(inspect.workers()))} | {old: counts.get(name, 0) for old, name in COUNTERS[part].items()}
    if part == "processor":
        pools = sum(1 for row in _aggregations() if row.in_flight)
        found |= {"workers": _by_state(JOB)[State.LOCKED], "workerPools": pools}
        seen = sorted(name for name in counts if name.startswith(counters.RESPONSE))
        found |= {f"download.{name}": counts[name] for name in seen}
    return _shared(found)


@_route("GET", Scope.READ)
def aggregations(request: HttpRequest) -> HttpResponse:
    """All aggregations, each with the number of jobs that wait."""
    return _shared([{"name": f"jobs:{row.id}", "size": row.ready + row.delayed} for row in _aggregations()])


def _authenticate(request: HttpRequest, scope: Scope) -> None:
    if "Authorization" not in request.headers and of_jobs().classic_open:
        Bearer(scope).permit(request, ANYONE)
        request.auth = ANYONE  # type: ignore[attr-defined]  # as ninja does
        return
    request.auth = Bearer(scope)(request)  # type: ignore[attr-defined]
    if request.auth is None:  # type: ignore[attr-defined]
        raise Problem(401, "The request has no token that is known.", headers={"WWW-Authenticate": "Bearer"})


def _aggregations() -> list[JobLane]:
    found: list[JobLane] = []
    after = ""
    while True:
        page = inspect.aggregations(POOL, after, PAGE)
        found += page.rows
        if not (after := page.next):
            return found


def _by_state(kind: str) -> dict[str, int]:
    return {state: count or 0 for state, count in inspect.facets(TaskQuery(kind=kind))["state"]}


def _shared(found: Any) -> HttpResponse:
    """An answer that pages of other hosts may read."""
    return JsonResponse(found, safe=False, headers={"Access-Control-Allow-Origin": "*"})


def _said(status: int, text: str, **headers: str) -> HttpResponse:
    return HttpResponse(f"{text}\n" if status != 200 else text, status=status, content_type=TEXT, headers=headers)
