"""pytest plugin: fixtures with a clean namespace for a test, and a worker for it. pytest finds it by itself.

If the settings name the embedded server, the tests get a separate embedded server, which ends with them.

pytest loads the plugin wherever this package is installed. So the fixtures import QueueOps, and the module does not.
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
    """The URL of the store: that of the settings, or of an embedded server for this run of tests only."""
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
    """Same as `queueops_namespace`, with the attributes of the package that it hides: `queueops.get(id)`."""
    return queueops_namespace


@pytest.fixture
def queueops_worker(queueops_namespace: Namespace) -> Callable[..., int]:
    """`run_worker` for the test's namespace: call it after a push."""
    from queueops.testing import run_worker

    return run_worker
