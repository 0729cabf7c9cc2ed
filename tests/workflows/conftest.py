"""Fixtures of workflows: runs kept in memory, or replayed before each step."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from queueops.kinds.workflows.steps import KEPT_RUNS, kept_runs
from queueops.tasks import registry


@pytest.fixture(params=["kept", "replayed"])
def memory(request: pytest.FixtureRequest, namespace: str) -> Iterator[str]:
    """A test runs twice: with runs in memory, and with a replay before each step."""
    kept_runs.clear()
    kept_runs.most = KEPT_RUNS if request.param == "kept" else 0
    yield request.param
    kept_runs.most = KEPT_RUNS
    kept_runs.clear()


@pytest.fixture
def own_handlers() -> Iterator[None]:
    """Unregister what a test defines."""
    before = set(registry.handlers())
    yield
    for key in set(registry.handlers()) - before:
        registry.unregister(*key)
