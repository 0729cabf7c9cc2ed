"""A broker on a namespace of the test's own; what it leaves in Redis is checked at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from queueops.conf import Settings
from queueops.redis.broker import RedisBroker
from tests.kernel.desk import Desk

MakeDesk = Callable[..., Desk]


@pytest.fixture
def desk_class() -> type[Desk]:
    """Which desk it is; tests of one kind have their own."""
    return Desk


@pytest.fixture
def make_desk(redis_url: str, namespace: str, desk_class: type[Desk]) -> Iterator[MakeDesk]:
    """Makes desks with settings of the test's own; each is checked at the end of the test."""
    made: list[Desk] = []

    def make(**values: Any) -> Desk:
        settings = Settings(**({"url": redis_url, "namespace": namespace, "lease": 1000.0} | values))
        made.append(desk_class(RedisBroker(settings)))
        return made[-1]

    yield make
    for desk in made[:1]:
        desk.check()
    for desk in made:
        desk.broker.close()


@pytest.fixture
def desk(make_desk: MakeDesk) -> Desk:
    """A desk with long leases: time passes only where the test says so."""
    return make_desk()
