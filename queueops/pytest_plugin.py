"""The pytest plugin, which pytest finds by itself: a namespace for each test that asks for one, and a worker for it.

A project whose store is the embedded server gets one of its own for the tests, which ends with them.

It is loaded in every run of pytest beside this package, so all that it stands on is imported by the fixtures.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def queueops_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of the store: the settings' own, or instead of their embedded server one for this run of tests alone."""
    from queueops import conf
    from queueops.redis import embedded

    url = conf.current().url
    if not url.startswith("embedded:") or "QUEUEOPS_URL" in os.environ:
        yield url
        return
    home = tmp_path_factory.mktemp("queueops")
    yield f"embedded:{home}"
    embedded.stop(home)


@pytest.fixture
def queueops(queueops_store: str) -> Iterator[str]:
    """A clean namespace on the store, for this test alone; gives its name, removes it at the end."""
    from django.conf import settings
    from django.test import override_settings

    from queueops import waiting

    name = f"test-{uuid.uuid4().hex[:12]}"
    with override_settings(QUEUEOPS={**getattr(settings, "QUEUEOPS", {}), "URL": queueops_store, "NAMESPACE": name}):
        yield name
        waiting.close()
        _remove(name)


@pytest.fixture
def queueops_worker(queueops: str) -> Callable[..., int]:
    """`run_worker` for the test's namespace: call it after a push."""
    from queueops.testing import run_worker

    return run_worker


def _remove(namespace: str) -> None:
    """Everything under the namespace; SCAN is for tests only."""
    from queueops.redis.broker import get_broker

    client: Any = get_broker().client
    for key in client.scan_iter(match=f"{{{namespace}:*", count=1000):
        client.delete(key)
    client.delete(f"{{{namespace}}}:pools")
    get_broker().close()
