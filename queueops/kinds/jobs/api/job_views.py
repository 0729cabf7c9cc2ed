"""Operations on jobs: hand in one or many, list, read, cancel, and retry a job or its callbacks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from django.http import HttpRequest
from ninja import Query, Router
from ninja.responses import Status

from queueops import control, inspect, jobs
from queueops.errors import BadOption, QueueOpsError
from queueops.errors.job_network import AddressRefused
from queueops.inspect import TaskDetail
from queueops.kinds.jobs.aggregations.job_list import started_attempts
from queueops.kinds.jobs.api import converters as converters  # registers the converter of the paths
from queueops.kinds.jobs.api.audit import recorded
from queueops.kinds.jobs.api.authentication import Bearer, client_of_request
from queueops.kinds.jobs.api.idempotency import id_of_key
from queueops.kinds.jobs.api.problems import KEY, Problem, problem_of, refuse_unknown
from queueops.kinds.jobs.api.schemas import (
    Changed,
    Created,
    CreatedMany,
    JobFilter,
    JobsPage,
    NewJob,
    NewJobs,
    ShownJob,
)
from queueops.kinds.jobs.api_tokens import Scope
from queueops.kinds.jobs.callbacks.callback_plans import read_targets
from queueops.kinds.jobs.callbacks.callback_senders import HTTP
from queueops.kinds.jobs.callbacks.callback_states import callback_word
from queueops.kinds.jobs.http.net_guard import check_url
from queueops.kinds.jobs.settings import of_jobs
from queueops.kinds.jobs.store import JOB
from queueops.model.contracts import Row
from queueops.tasks.encoding import decode_arguments

router = Router(tags=["jobs"])  # longer paths come first: an id may have a slash, and would match them
REASON = "cancelled by {name} over HTTP"


@router.post(
    "/jobs",
    auth=Bearer(Scope.SUBMIT),
    response={201: Created, 200: Created},
    operation_id="submit_job",
    summary="Submit one job",
)
def submit(request: HttpRequest, given: NewJob) -> Any:
    """Submit one job. With a header `Idempotency-Key`, a repeated request makes no second job (200).

    The same key with another body is refused (422).
    """
    options = _options(given)
    if key := request.headers.get(KEY, ""):
        options |= {"id": id_of_key(request, key), "fingerprint": _fingerprint(request)}
    handle = jobs.submit(**options)
    return Status(200 if handle.word == "EXISTS" else 201, Created(id=handle.id))


@router.post(
    "/jobs/bulk",
    auth=Bearer(Scope.SUBMIT),
    response={201: CreatedMany, 200: CreatedMany},
    operation_id="submit_jobs",
    summary="Submit many jobs at once",
)
def submit_many(request: HttpRequest, given: NewJobs) -> Any:
    """Hand in many jobs. If one is wrong, none is made, and the answer says which.

    With a header `Idempotency-Key`, a repeated request makes no second jobs (200). The same key with another body is
    refused (422).
    """
    wanted = [_options(job, "jobs", str(number)) for number, job in enumerate(given.jobs)]
    if key := request.headers.get(KEY, ""):
        fingerprint = _fingerprint(request)
        for number, options in enumerate(wanted):
            options |= {"id": id_of_key(request, key, str(number)), "fingerprint": fingerprint}
    try:
        handles = jobs.submit_many(wanted)
    except QueueOpsError as error:
        raise problem_of(error, _place_of_wrong(error)) from error
    is_new = any(handle.word != "EXISTS" for handle in handles)
    return Status(201 if is_new else 200, CreatedMany(ids=[handle.id for handle in handles]))


@router.get(
    "/jobs", auth=Bearer(Scope.READ), response=JobsPage, operation_id="list_jobs", summary="List jobs, the newest first"
)
def listed(request: HttpRequest, filter: Query[JobFilter]) -> Any:
    """Jobs, the newest first. `next` is the `after` of the next page; a `partial` page ended before it was full."""
    refuse_unknown(request, JobFilter.model_fields)
    found = inspect.jobs(
        filter.aggr_id,
        filter.state,
        filter.host,
        older_than=filter.older_than,
        newer_than=filter.newer_than,
        after=filter.after,
        limit=filter.limit,
    )
    rows = [
        {"aggr_id": row.aggregation}
        | _attempts(row.attempt, row.started)
        | {name: getattr(row, name) for name in SHOWN}
        for row in found.rows
    ]
    return {"jobs": rows, "next": found.next, "partial": found.partial}


@router.post(
    "/jobs/{any:id}/callback/retry",
    auth=Bearer(Scope.MANAGE),
    response=Changed,
    operation_id="retry_callback",
    summary="Send the last callback of a job again",
)
def retry_callback(request: HttpRequest, id: str) -> Any:
    """Send the last callback of a job again, with the same body. The job does not run again."""
    found = _job(id)
    callbacks = inspect.job_story(found).callbacks
    if not callbacks:
        raise Problem(409, "The job has no callback that is kept.")
    with recorded(request, "retry", pool=found.pool, ids=[callbacks[-1].id]) as act:
        act.rows = control.redeliver_callbacks([callbacks[-1].id], found.pool, who=act.who, token=act.token)
    found_now = _changed(act.rows[0])
    return found_now | {"state": callback_word(found_now["state"])}


@router.post(
    "/jobs/{any:id}/cancel",
    auth=Bearer(Scope.MANAGE),
    response=Changed,
    operation_id="cancel_job",
    summary="Cancel a job that has not ended",
)
def cancel(request: HttpRequest, id: str) -> Any:
    """Cancel a job that has not ended. Its callback tells of it."""
    found = _job(id)
    reason = REASON.format(name=client_of_request(request).name)
    with recorded(request, "cancel", pool=found.pool, ids=[found.id]) as act:
        act.rows = control.cancel([found.id], reason, found.pool, who=act.who, token=act.token)
    return _changed(act.rows[0])


@router.post(
    "/jobs/{any:id}/retry",
    auth=Bearer(Scope.MANAGE),
    response=Changed,
    operation_id="retry_job",
    summary="Run an ended job again",
)
def retry(request: HttpRequest, id: str) -> Any:
    """Run an ended job again. A job that waits for its next attempt starts it now."""
    found = _job(id)
    with recorded(request, "retry", pool=found.pool, ids=[found.id]) as act:
        act.rows = control.retry([found.id], found.pool, who=act.who, token=act.token)
    return _changed(act.rows[0])


@router.get(
    "/jobs/{any:id}",
    auth=Bearer(Scope.READ),
    response=ShownJob,
    operation_id="read_job",
    summary="Read one job and its callbacks",
)
def read(request: HttpRequest, id: str) -> Any:
    """One job: its state, its last error, its result and its callbacks. Secrets are masked."""
    found = _job(id)
    content = _content(found.args_json)
    return {
        "aggr_id": str(content.get("aggregation", "")),
        "url": str(content.get("url", "")),
        "error": found.error.message if found.error else "",
        "result": json.loads(found.result_json) if found.result_json else None,
        "callbacks": [
            {"state": row.word}
            | _attempts(row.attempt, row.started)
            | {name: getattr(row, name) for name in OF_CALLBACKS}
            for row in inspect.job_story(found).callbacks
        ],
        **_attempts(found.attempt, started_attempts(found)),
        **{name: getattr(found, name) for name in OF_JOBS},
    }


def _attempts(failed: int, started: int) -> dict[str, int]:
    return {"attempt": failed, "failed_attempts": failed, "started_attempts": started}


def _job(id: str) -> TaskDetail:
    found = inspect.task(id)
    if found is None or found.kind != JOB:
        raise Problem(404, "There is no job with this id.")
    return found


def _changed(row: Row) -> dict[str, str]:
    """What an action on a record has done. Raises Problem if it was refused."""
    if row.word in ("OK", "REPEAT"):
        return {"id": row.id, "state": row.state}
    if row.word == "GONE":
        raise Problem(404, "There is no job with this id.")
    raise Problem(409, f"Nothing was changed: {row.detail or row.word.lower()}.")


def check_callbacks(options: Mapping[str, Any], place: Sequence[str] = ()) -> None:
    """Raise Problem for a callback that would be refused later: a client of the API is told of it at once."""
    try:
        targets = read_targets(options)
        for name, target in (("callback", targets.success), ("callback_error", targets.error)):
            if target is not None and target.kind == HTTP:
                check_url(target.destination, _field_of_target(options, name), of_jobs())
    except (AddressRefused, BadOption) as error:
        raise problem_of(error, place) from error


def _field_of_target(options: Mapping[str, Any], name: str) -> str:
    """The field that has the URL. The target of an error is by default that of a success."""
    ends = ("url", "dst")
    return next((f"{each}_{end}" for each in (name, "callback") for end in ends if options.get(f"{each}_{end}")), name)


def _options(job: NewJob, *place: str) -> dict[str, Any]:
    """The arguments of `jobs.submit`. Raises Problem for fields that do not go together."""
    if errors := job.mixed_up():
        raise Problem(
            422, "The request has fields that are wrong.", [(".".join((*place, n)), why) for n, why in errors]
        )
    options = job.arguments()
    check_callbacks(options, place)
    return options


def _content(arguments: str) -> dict[str, Any]:
    try:
        return decode_arguments(JOB, arguments.encode())[1]
    except QueueOpsError:
        return {}


def _fingerprint(request: HttpRequest) -> str:
    """What stands for the body of a request, however its JSON is written."""
    return sha256(json.dumps(json.loads(request.body), sort_keys=True).encode()).hexdigest()[:32]


def _place_of_wrong(error: QueueOpsError) -> Sequence[str]:
    """Which of many jobs is wrong, as the note of the error says: its position from 0 on."""
    words = " ".join(getattr(error, "__notes__", [])).split()
    number = next((word for word in words if word.isdigit()), "")
    return ("jobs", str(int(number) - 1)) if number else ()


OF_JOBS = ("id", "state", "retries", "created_ms", "entered_ms", "due_ms")
SHOWN = (*OF_JOBS, "url", "error")
OF_CALLBACKS = ("id", "url", "retries", "due_ms", "answer")
