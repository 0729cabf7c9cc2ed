"""Problem details (RFC 9457): each error of the API, with the fields that are wrong and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, JsonResponse

CONTENT_TYPE = "application/problem+json"


class Problem(Exception):
    """A request that is refused. `errors` has pairs of a field and what is wrong with it."""

    def __init__(self, status: int, detail: str, errors: Iterable[tuple[str, str]] = ()) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail
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
    response = JsonResponse(body, status=problem.status, content_type=CONTENT_TYPE)
    if problem.status == 401:
        response["WWW-Authenticate"] = "Bearer"
    return response


def field_of(place: Sequence[Any]) -> str:
    """The name of a field from its place in the body: `jobs.3.url`."""
    known = [str(part) for part in place if part not in ("body", "query", "path")]
    return ".".join(known[1:] if known[:1] in (["given"], ["filter"]) else known)
