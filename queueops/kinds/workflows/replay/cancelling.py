"""Cancel that waits: in a block of the code, a cancelled call waits for the end of its activity or child."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

is_waiting: ContextVar[bool] = ContextVar("queueops_cancel_waits", default=False)


@contextmanager
def waiting() -> Iterator[None]:
    """Around calls whose cancel waits. The tasks that the code makes in the block have it, too."""
    token = is_waiting.set(True)
    try:
        yield
    finally:
        is_waiting.reset(token)
