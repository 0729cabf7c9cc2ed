"""The desk of the kernel's tests, for chunks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.kernel.conftest import desk, make_desk
from tests.mapreduce.bench import ChunkDesk

__all__ = ["MakeDesk", "desk", "desk_class", "make_desk"]
MakeDesk = Callable[..., ChunkDesk]


@pytest.fixture
def desk_class() -> type[ChunkDesk]:
    """A desk that knows chunks."""
    return ChunkDesk
