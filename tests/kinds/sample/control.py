"""Actions on tasks of the sample kind."""

from __future__ import annotations

from queueops.model.contracts import Row
from queueops.redis.broker import get_broker

__all__ = ["run_rounds_again"]


def run_rounds_again(id: str, pool: str = "default") -> Row:
    """All rounds, from the first on."""
    return get_broker().control(pool, "retry", [id])[0]
