"""Problem details (RFC 9457): each error of the API, with the fields that are wrong and why."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, JsonResponse

from queueops.errors import (
    BadId,
    BadOption,
    BrokerUnavailable,
    FilterError,
    IdInUse,
    NotEncodable,
    PayloadTooLarge,
    QueueOpsError,
    StoreFull,
    UnknownLane,
)
from queueops.errors.job_network import AddressRefused, HeaderRefused
from queueops.errors.jobs import AggregationDrains, AggregationInUse, FingerprintDiffers
from queueops.errors.kinds import NotOffered
from queueops.errors.refusals import LibraryRefused

CONTENT_TYPE = "application/problem+json"
FIELDS = {"aggregation": "aggr_id", "limit": "aggr_limit", "proxy": "aggr_proxy", "retries": "max_retries"}
"""Options of `jobs.submit` whose field has another name."""
KEY = "Idempotency-Key"
REUSED = (
    f"The header {KEY} was used before with another body, and a job of that request is kept. Nothing was stored. "
    "Send a new request with a new key."
)
NAME_OF_HANDLER = "name of a handler"


class Problem(Exception):
    """A request that is refused. `errors` has pairs of a field and what is wrong with it."""

    def __init__(
        self,
        status: int,
        detail: str,
        errors: Iterable[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, dict(headers or {})
        self.errors = [{"field": field, "reason": reason} for field, reason in errors]


def answer(request: HttpRequest, problem: Problem | type[Problem]) -> JsonResponse:
    """The answer to a refused request."""
    assert isinstance(problem, Problem)  # noqa: S101 - ninja names the class in its types, and gives the error
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "detail": problem.detail,
    }
    if problem.errors:
        body["errors"] = problem.errors
    headers = problem.headers | ({"WWW-Authenticate": "Bearer"} if problem.status == 401 else {})
    return JsonResponse(body, status=problem.status, content_type=CONTENT_TYPE, headers=headers)


def field_of(place: Sequence[Any]) -> str:
    """The name of a field from its place in the body: `jobs.3.url`. The body as a whole is `body`."""
    known = [str(part) for part in place if part not in ("body", "query", "path")]
    return ".".join(known[1:] if known[:1] in (["given"], ["filter"]) else known) or "body"


def refuse_unknown(request: HttpRequest, known: Collection[str]) -> None:
    """Raise Problem for a parameter of the URL that is not known: without it, a list would have more than was meant."""
    if errors := [(name, "This parameter is unknown.") for name in request.GET if name not in known]:
        raise Problem(422, "The request has parameters that are wrong.", errors)


def problem_of(error: QueueOpsError, place: Sequence[str] = ()) -> Problem:
    """The problem that an error of the engine is for the client. `place` is where the job is in the body."""
    if isinstance(error, BrokerUnavailable | LibraryRefused | StoreFull):
        return Problem(503, "The store takes no jobs now.")
    if isinstance(error, NotOffered):
        return Problem(501, str(error))
    if isinstance(error, AggregationDrains | AggregationInUse | IdInUse):
        return Problem(409, str(error))
    if isinstance(error, FingerprintDiffers):
        return Problem(422, REUSED, [(KEY, "It was used with another body.")])
    if isinstance(error, UnknownLane):
        return Problem(404, "There is no such aggregation.")
    name = ""
    if isinstance(error, BadOption):
        name = error.name
    elif isinstance(error, AddressRefused):
        name = error.what
    elif isinstance(error, HeaderRefused):
        name = "request_headers"
    elif isinstance(error, NotEncodable):
        name = error.path.partition("[")[0]  # of a value in a dict: the field that has the dict
    elif isinstance(error, FilterError):
        name = "after"  # other parameters are checked before the list is read
    elif isinstance(error, BadId):
        name = "handler" if error.what == NAME_OF_HANDLER else "aggr_id"
    field, said = ".".join([*place, FIELDS.get(name, name)]), text_of(error)
    status = 413 if isinstance(error, PayloadTooLarge) else 422
    return Problem(status, said, [(field, said)] if field else [])


def text_of(error: QueueOpsError) -> str:
    """The message of an error, with the name that the field has for a client."""
    if isinstance(error, BadOption) and error.name in FIELDS:
        return str(BadOption(name=FIELDS[error.name], value=error.value, expected=error.expected))
    return str(error)
