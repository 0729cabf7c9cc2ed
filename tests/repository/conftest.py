"""Fixtures of tests about the repository."""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import pytest

from queueops.tasks import registry


@pytest.fixture
def own_tasks() -> Iterator[None]:
    """Tasks of the examples are forgotten again."""
    with mock.patch.dict(registry._handlers), mock.patch.dict(registry._places):
        yield
