"""Tokens of the API: the setting has the digest of each, with its scopes. A token itself is stored nowhere."""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import Any

from django.http import HttpRequest
from ninja.security import HttpBearer

from queueops import conf
from queueops.kinds.jobs.api.problems import Problem
from queueops.kinds.jobs.settings import ApiToken, Scope, of_jobs


class Bearer(HttpBearer):
    """Authentication by `Authorization: Bearer <token>`. The client's name and scopes are `request.auth`."""

    def __init__(self, scope: Scope) -> None:
        super().__init__()
        self._scope = scope

    def __call__(self, request: HttpRequest) -> Any:
        """Check the size of the body, too: here nothing of it has been read."""
        limit = of_jobs().api_body_limit
        if int(request.META.get("CONTENT_LENGTH") or 0) > limit:
            raise Problem(413, f"The body is larger than {limit:,} bytes.")
        return super().__call__(request)

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken | None:
        """The client of a token; None if it is unknown. Raises Problem if its scopes do not suffice."""
        client = client_of(token)
        if client is None:
            return None
        if self._scope not in client.scopes:
            raise Problem(403, f"The token {client.name} does not have the scope {self._scope}.")
        if self._scope is not Scope.READ and conf.current().read_only:
            raise Problem(403, "The setting READ_ONLY is on: no job is taken.")
        return client


def client_of(token: str) -> ApiToken | None:
    """The client of a token. All are compared, in a time that says nothing of them."""
    digest = sha256(token.encode()).hexdigest()
    found = None
    for client in of_jobs().api_tokens:
        if hmac.compare_digest(client.sha256, digest):
            found = client
    return found
