"""A desk on the broker that operations use: tasks are pushed, claimed and settled by hand."""

from __future__ import annotations

import pytest

from queueops.redis.broker import get_broker
from tests.kernel.desk import Desk


@pytest.fixture
def desk(namespace: str) -> Desk:
    """The broker of the settings, on a namespace of the test's own."""
    return Desk(get_broker())
