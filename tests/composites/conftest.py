"""The desk of the kernel's tests: a broker of the test's own, whose pool is checked at the end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.composites.work import broken, seen
from tests.kernel.conftest import desk, desk_class, make_desk

__all__ = ["desk", "desk_class", "make_desk"]


@pytest.fixture(autouse=True)
def one_number_is_broken() -> Iterator[None]:
    """Nothing ran before a test, and no other test sees its repairs."""
    seen.clear()
    yield
    broken.clear()
    broken.add(13)
