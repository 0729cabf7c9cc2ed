"""Warnings to the developer: each is logged once in a process."""

from __future__ import annotations

import logging
from collections.abc import Hashable

MOST = 1_000
"""After so many different ones nothing more is warned about."""

logger = logging.getLogger("queueops.push")
_told: set[Hashable] = set()


def warn(key: Hashable, message: str, *args: object) -> None:
    """Log the warning, unless one with this key was logged before."""
    if key not in _told and len(_told) < MOST:
        _told.add(key)
        logger.warning(message, *args)


def forget() -> None:
    """Warn again; for tests."""
    _told.clear()
