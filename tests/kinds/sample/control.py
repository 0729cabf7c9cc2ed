"""Actions on tasks of the sample kind."""

from __future__ import annotations

from queueops.model.contracts import Row
from queueops.redis.broker import get_broker, get_role
from tests.kinds.sample.store import RoundCalls

__all__ = ["end_rest", "rest", "run_rounds_again"]


def run_rounds_again(id: str, pool: str = "default") -> Row:
    """All rounds, from the first on."""
    return get_broker().control(pool, "retry", [id])[0]


def rest(id: str, pool: str = "default") -> str:
    """A pending task rests, until its rest is ended."""
    return get_role(RoundCalls).rest(pool, id)


def end_rest(id: str, pool: str = "default") -> str:
    """A resting task is ready again."""
    return get_role(RoundCalls).rest(pool, id, ends=True)
