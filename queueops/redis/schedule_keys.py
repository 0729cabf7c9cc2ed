"""Keys of one schedule."""

from __future__ import annotations

from queueops.model import subkeys
from queueops.redis.keys import Keys


def schedule_key(keys: Keys, id: str) -> str:
    """One schedule."""
    return f"{keys.prefix}:schedule:{id}"


def log_key(keys: Keys, id: str) -> str:
    """The log of a schedule: its last 100 lines."""
    return f"{schedule_key(keys, id)}{subkeys.LOG.name}"
