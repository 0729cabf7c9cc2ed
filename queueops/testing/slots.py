"""Test slots: an exception that ends the test itself, such as Ctrl-C, is not an outcome of the task."""

from __future__ import annotations

import sys
from typing import Any

from queueops.worker.execution.slot import AsyncSlot, ThreadSlot


def _ends_the_test() -> tuple[type[BaseException], ...]:
    """KeyboardInterrupt, and what pytest raises for a timeout, `pytest.fail()`, `pytest.skip()` and `pytest.exit()`."""
    pytest: Any = sys.modules.get("pytest")
    own = (pytest.fail.Exception, pytest.skip.Exception, pytest.exit.Exception) if pytest else ()
    return (KeyboardInterrupt, *own)


class InlineThreadSlot(ThreadSlot):
    """A slot in the thread of the test."""

    __slots__ = ()
    passes = _ends_the_test()


class InlineAsyncSlot(AsyncSlot):
    """A slot on an event loop of the test."""

    __slots__ = ()
    passes = _ends_the_test()
