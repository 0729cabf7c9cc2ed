"""Fixtures of workflows: runs kept in memory, or replayed before each step."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from queueops.kinds.workflows.steps import KEPT_RUNS, kept_runs


@pytest.fixture(params=["kept", "replayed"])
def memory(request: pytest.FixtureRequest, namespace: str) -> Iterator[str]:
    """A test runs twice: with runs in memory, and with a replay before each step."""
    kept_runs.clear()
    kept_runs.most = KEPT_RUNS if request.param == "kept" else 0
    yield request.param
    kept_runs.most = KEPT_RUNS
    kept_runs.clear()
