"""Operations of the API: hand in one or many jobs, and read one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.responses import Status

from queueops import inspect, jobs
from queueops.errors import BadId, BadOption, BrokerUnavailable, PayloadTooLarge, QueueOpsError, StoreFull
from queueops.errors.job_network import AddressRefused, HeaderRefused
from queueops.kinds.jobs.api.problems import Problem, answer, field_of
from queueops.kinds.jobs.api.schemas import FIELDS, Created, CreatedMany, NewJob, NewJobs, ShownJob
from queueops.kinds.jobs.api.tokens import Bearer
from queueops.kinds.jobs.net_guard import check_url
from queueops.kinds.jobs.settings import ApiToken, Scope, of_jobs
from queueops.kinds.jobs.submission import JOB
from queueops.tasks.encoding import decode_arguments

api = NinjaAPI(title="QueueOps jobs", version="1", urls_namespace="queueops-jobs-v1")
LONGEST_KEY = 200


@api.post("/jobs", auth=Bearer(Scope.SUBMIT), response={201: Created, 200: Created})
def submit(request: HttpRequest, given: NewJob) -> Any:
    """Hand in one job. With a header `Idempotency-Key`, a repeated request makes no second job (200)."""
    options = _options(given)
    if key := request.headers.get("Idempotency-Key", ""):
        options["id"] = _id_of_key(request, key)
    try:
        handle = jobs.submit(**options)
    except QueueOpsError as error:
        raise _problem(error) from error
    return Status(200 if handle.word == "EXISTS" else 201, Created(id=handle.id))


@api.post("/jobs/bulk", auth=Bearer(Scope.SUBMIT), response={201: CreatedMany})
def submit_many(request: HttpRequest, given: NewJobs) -> Any:
    """Hand in many jobs. If one is wrong, none is made, and the answer says which."""
    wanted = [_options(job, "jobs", str(number)) for number, job in enumerate(given.jobs)]
    try:
        handles = jobs.submit_many(wanted)
    except QueueOpsError as error:
        raise _problem(error, _place_of_wrong(error)) from error
    return Status(201, CreatedMany(ids=[handle.id for handle in handles]))


@api.get("/jobs/{id}", auth=Bearer(Scope.READ), response=ShownJob)
def read(request: HttpRequest, id: str) -> Any:
    """One job: its state, its last error, and its result. Secrets are masked."""
    try:
        found = inspect.task(id)
    except QueueOpsError as error:
        raise _problem(error) from error
    if found is None or found.kind != JOB:
        raise Problem(404, "There is no job with this id.")
    content = _content(found.args_json)
    return ShownJob(
        id=found.id,
        aggr_id=str(content.get("aggregation", "")),
        url=str(content.get("url", "")),
        state=found.state,
        attempt=found.attempt,
        retries=found.retries,
        created_ms=found.created_ms,
        entered_ms=found.entered_ms,
        due_ms=found.due_ms,
        error=found.error.message if found.error else "",
        result=json.loads(found.result_json) if found.result_json else None,
    )


def _options(job: NewJob, *place: str) -> dict[str, Any]:
    """The arguments of `jobs.submit`. A client of the API is told at once of a callback that would be refused later."""
    for name in ("callback_url", "callback_error_url"):
        if url := getattr(job, name):
            try:
                check_url(url, name, of_jobs())
            except AddressRefused as error:
                raise _problem(error, place) from error
    return job.options()


def _content(arguments: str) -> dict[str, Any]:
    try:
        return decode_arguments(JOB, arguments.encode())[1]
    except QueueOpsError:
        return {}


def _id_of_key(request: HttpRequest, key: str) -> str:
    """The id of the job of an idempotency key. Two clients may use the same key."""
    if len(key) > LONGEST_KEY:
        raise Problem(422, "The header Idempotency-Key is too long.", [("Idempotency-Key", f"at most {LONGEST_KEY}")])
    client: ApiToken = request.auth  # type: ignore[attr-defined]
    digest = sha256("\n".join((client.name, key)).encode())
    return f"key-{digest.hexdigest()[:40]}"


def _place_of_wrong(error: QueueOpsError) -> Sequence[str]:
    """Which of many jobs is wrong, as the note of the error says: its position from 0 on."""
    words = " ".join(getattr(error, "__notes__", [])).split()
    number = next((word for word in words if word.isdigit()), "")
    return ("jobs", str(int(number) - 1)) if number else ()


def _problem(error: QueueOpsError, place: Sequence[str] = ()) -> Problem:
    if isinstance(error, BrokerUnavailable | StoreFull):
        return Problem(503, "The store takes no jobs now.")
    name = ""
    if isinstance(error, BadOption):
        name = error.name
    elif isinstance(error, AddressRefused):
        name = error.what
    elif isinstance(error, HeaderRefused):
        name = "request_headers"
    elif isinstance(error, BadId):
        name = "aggr_id"
    field = ".".join([*place, FIELDS.get(name, name)])
    status = 413 if isinstance(error, PayloadTooLarge) else 422
    return Problem(status, str(error), [(field, str(error))] if field else [])


@api.exception_handler(Problem)
def _refused(request: HttpRequest, error: Problem | type[Problem]) -> HttpResponse:
    return answer(request, error)


@api.exception_handler(ValidationError)
def _invalid(request: HttpRequest, error: ValidationError | type[ValidationError]) -> HttpResponse:
    found = getattr(error, "errors", [])
    errors = [(field_of(each["loc"]), str(each["msg"])) for each in found]
    return answer(request, Problem(422, "The request has fields that are wrong.", errors))


@api.exception_handler(AuthenticationError)
def _unknown(request: HttpRequest, error: AuthenticationError | type[AuthenticationError]) -> HttpResponse:
    return answer(request, Problem(401, "The request has no token that is known."))


@api.exception_handler(HttpError)
def _other(request: HttpRequest, error: HttpError | type[HttpError]) -> HttpResponse:
    return answer(request, Problem(getattr(error, "status_code", 400), str(error)))
