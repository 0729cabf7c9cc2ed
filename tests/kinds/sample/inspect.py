"""Questions about tasks of the sample kind."""

from __future__ import annotations

from queueops.redis.broker import get_role
from tests.kinds.sample.store import RoundCalls

__all__ = ["rounds"]


def rounds(id: str, pool: str = "default") -> list[str]:
    """The values of the rounds that have ended."""
    return [value.decode() for value in get_role(RoundCalls).rounds(pool, id)]
