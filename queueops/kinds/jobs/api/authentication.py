"""Authentication of the API: the token of a request, its scopes and its limits."""

from __future__ import annotations

from math import ceil

from django.db import DatabaseError
from django.http import HttpRequest
from ninja.security import HttpBearer

from queueops import conf
from queueops.kinds.jobs.api.problems import Problem
from queueops.kinds.jobs.api.wrong_tokens import count_wrong, seconds_to_wait
from queueops.kinds.jobs.api_tokens import OF_JOBS, ApiToken, Scope, is_known, token_of
from queueops.kinds.jobs.settings import of_jobs
from queueops.kinds.jobs.store import JobCalls
from queueops.redis.broker import get_role

POOL = "default"
"""The pool that keeps the rates of the tokens."""
READING = (Scope.READ, Scope.VIEW)
"""Scopes that change nothing."""
ANYONE = ApiToken(id=0, name="anyone", scopes=OF_JOBS)
"""A client without a token, if the setting CLASSIC_OPEN permits it."""


class Bearer(HttpBearer):
    """Authentication by `Authorization: Bearer <token>`. The token, without its secret, is `request.auth`."""

    def __init__(self, scope: Scope | None) -> None:
        super().__init__()
        self._scope = scope

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken | None:
        """The token of a secret; None if it is unknown. Raises Problem if it does not permit the request.

        Nothing of the body has been read here.
        """
        address = request.META.get("REMOTE_ADDR", "")
        if (wait := seconds_to_wait(address)) and not is_known(token):
            detail = "Too many wrong tokens came from this address."
            raise Problem(429, detail, headers={"Retry-After": str(ceil(wait))})
        try:
            found = token_of(token)
        except DatabaseError as error:
            raise Problem(503, "The tokens cannot be read now.") from error
        if found is None:
            count_wrong(address)
            return None
        self.permit(request, found)
        return found

    def permit(self, request: HttpRequest, token: ApiToken) -> None:
        """Raise Problem unless a token permits the request: its size, the rate, the scope."""
        _check_size(request, token)
        _check_rate(token)
        if self._scope is not None:
            check_scope(token, self._scope)


def check_scope(token: ApiToken, scope: Scope) -> None:
    """Raise Problem unless the token has the scope, and the setting READ_ONLY permits it."""
    if scope not in token.scopes:
        raise Problem(403, f"The token {token.name} does not have the scope {scope}.")
    if scope not in READING and conf.current().read_only:
        raise Problem(403, "The setting READ_ONLY is on: nothing is changed.")


def client_of_request(request: HttpRequest) -> ApiToken:
    """The token of an authenticated request."""
    found: ApiToken = request.auth  # type: ignore[attr-defined]  # ninja sets it
    return found


def _check_size(request: HttpRequest, token: ApiToken) -> None:
    limit = token.body_limit or of_jobs().api_body_limit
    if int(request.META.get("CONTENT_LENGTH") or 0) > limit:
        raise Problem(413, f"The body is larger than {limit:,} bytes.")


def _check_rate(token: ApiToken) -> None:
    if token.rate is not None and (wait_ms := get_role(JobCalls).take_request(POOL, token.id, token.rate)):
        seconds = str(-(-wait_ms // 1000))
        detail = f"The token {token.name} permits {token.rate:g} requests a second."
        raise Problem(429, detail, headers={"Retry-After": seconds})
