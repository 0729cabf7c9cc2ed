"""Developer warnings, each logged once in a process."""

from __future__ import annotations

import logging
from collections.abc import Hashable

MOST = 1_000
"""After this many different warnings, further ones are not logged."""

logger = logging.getLogger("queueops.push")
_told: set[Hashable] = set()


def warn(key: Hashable, message: str, *args: object) -> None:
    """Log the warning, unless one with this key was already logged."""
    if key not in _told and len(_told) < MOST:
        _told.add(key)
        logger.warning(message, *args)


def forget() -> None:
    """Forget the logged warnings; for tests."""
    _told.clear()
