"""Idempotency keys: the id that a key gives to what a request makes."""

from __future__ import annotations

from hashlib import sha256

from django.http import HttpRequest

from queueops.kinds.jobs.api.authentication import client_of_request
from queueops.kinds.jobs.api.openapi import LONGEST_KEY
from queueops.kinds.jobs.api.problems import KEY, Problem


def id_of_key(request: HttpRequest, key: str, *number: str) -> str:
    """The id of the job or task of an idempotency key, or of one of many. Two clients may use the same key."""
    if len(key) > LONGEST_KEY:
        raise Problem(422, f"The header {KEY} is too long.", [(KEY, f"at most {LONGEST_KEY} characters")])
    digest = sha256("\n".join((client_of_request(request).name, key, *number)).encode())
    return f"key-{digest.hexdigest()[:40]}"
