"""The desk of the kernel's tests: a broker of the test's own, whose pool is checked at the end."""

from __future__ import annotations

from tests.kernel.conftest import desk, desk_class, make_desk

__all__ = ["desk", "desk_class", "make_desk"]
