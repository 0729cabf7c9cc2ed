"""The pytest plugin, which pytest finds by itself: a namespace for each test that asks for one, and a worker for it.

A project whose store is the embedded server gets one of its own for the tests, which ends with them.

It is loaded in every run of pytest beside this package, so all that it stands on is imported by the fixtures.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from queueops.testing.namespace import Namespace


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
def queueops_namespace(queueops_store: str) -> Iterator[Namespace]:
    """A clean namespace on the store, for this test alone; gives its name, removes it at the end."""
    from queueops.testing import namespace

    with namespace(queueops_store) as name:
        yield name


@pytest.fixture
def queueops(queueops_namespace: Namespace) -> Namespace:
    """The same. As a parameter it hides the package `queueops`, and so has what that has: `queueops.get(id)`."""
    return queueops_namespace


@pytest.fixture
def queueops_worker(queueops_namespace: Namespace) -> Callable[..., int]:
    """`run_worker` for the test's namespace: call it after a push."""
    from queueops.testing import run_worker

    return run_worker
