"""A desk for chunks; what it leaves in Redis is checked at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from queueops.conf import Settings
from queueops.redis.broker import RedisBroker
from tests.mapreduce.bench import ChunkDesk

MakeDesk = Callable[..., ChunkDesk]


@pytest.fixture
def make_desk(redis_url: str, namespace: str) -> Iterator[MakeDesk]:
    """Makes desks with settings of the test's own; each is checked at the end of the test."""
    made: list[ChunkDesk] = []

    def make(**values: Any) -> ChunkDesk:
        settings = Settings(**({"url": redis_url, "namespace": namespace, "lease": 1000.0} | values))
        made.append(ChunkDesk(RedisBroker(settings)))
        return made[-1]

    yield make
    for desk in made[:1]:
        desk.check()
    for desk in made:
        desk.broker.close()


@pytest.fixture
def desk(make_desk: MakeDesk) -> ChunkDesk:
    """A desk with long leases: time passes only where the test says so."""
    return make_desk()
