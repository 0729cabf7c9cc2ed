"""The pytest plugin: a namespace of its own for each test that asks for one, and a worker for it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings

from queueops import waiting
from queueops.redis.broker import get_broker
from queueops.testing.worker import run_worker


@pytest.fixture
def queueops() -> Iterator[str]:
    """A clean namespace on the store of the settings, for this test alone; gives its name, removes it at the end."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    with override_settings(QUEUEOPS={**getattr(settings, "QUEUEOPS", {}), "NAMESPACE": name}):
        yield name
        waiting.close()
        _remove(name)


@pytest.fixture
def queueops_worker(queueops: str) -> Callable[..., int]:
    """`run_worker` for the test's namespace: call it after a push."""
    return run_worker


def _remove(namespace: str) -> None:
    """Everything under the namespace; SCAN is for tests only."""
    client: Any = get_broker().client
    for key in client.scan_iter(match=f"{{{namespace}:*", count=1000):
        client.delete(key)
    client.delete(f"{{{namespace}}}:pools")
    get_broker().close()
