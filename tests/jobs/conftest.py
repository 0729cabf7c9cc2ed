"""Fixtures of jobs: handlers in this process, settings that allow local servers, and names that lead to them."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from queueops.control import create_api_token
from queueops.jobs import Job, job_handler
from queueops.kinds.jobs import api_tokens
from queueops.kinds.jobs.api import wrong_tokens
from queueops.kinds.jobs.settings import JobSettings, read_settings
from queueops.tasks import registry

LOCAL = {"PRIVATE_NETWORKS": ["127.0.0.0/8"], "PORTS": None}


@pytest.fixture
def local() -> JobSettings:
    """Settings with which the servers of a test may be reached."""
    return read_settings(LOCAL)


Names = Callable[..., list[str]]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    """Give names addresses, one after the other; the last one stays. There is no name server in a test."""
    real = socket.getaddrinfo
    known: dict[str, list[str]] = {}
    asked: list[str] = []

    def resolve(host: Any, *args: Any, **named: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name not in known:
            return real(host, *args, **named)
        asked.append(name)
        found = known[name].pop(0) if len(known[name]) > 1 else known[name][0]
        return [each for address in found.split() for each in real(address, *args, **named)]

    def give(name: str, *addresses: str) -> list[str]:
        known[name] = list(addresses)
        return asked

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return give


Register = Callable[[Callable[[Job], Any]], None]


@pytest.fixture
def handler(namespace: str) -> Iterator[Register]:
    """Register a function as the handler `work` for one test."""
    yield lambda func: job_handler("work")(func) and None
    registry.unregister("job", "work")


@pytest.fixture
def api(namespace: str, db: None, settings: Any) -> Iterator[Client]:
    """A client of the API with a token that has every scope. There are tokens for two other clients, too."""
    api_tokens.forget()
    wrong_tokens.forget()
    secrets = {
        name: create_api_token(name, scopes.split()).secret
        for name, scopes in (("shop", "submit read manage"), ("other", "submit"), ("viewer", "read"))
    }
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": {"API_BODY_LIMIT": 5000}}
    settings.ROOT_URLCONF, settings.MIDDLEWARE = "tests.jobs.api_urls", []
    client = Client(headers={"authorization": f"Bearer {secrets['shop']}"})
    client.secrets = secrets  # type: ignore[attr-defined]
    yield client
    api_tokens.forget()
