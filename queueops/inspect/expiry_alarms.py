"""Alarm of tasks that expire: many ended before they could begin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from queueops.inspect.alarm import Alarm, manage, warning
from queueops.inspect.throughput import expired
from queueops.model.sentences import say

LEAST = 10
"""Fewer expired tasks in this and the previous minute are not an alarm."""


def alarms(pool: str, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    """One alarm if many tasks of a pool expired in this and the previous minute."""
    names = expired(sampled)
    if names.total() < LEAST:
        return
    name, most = names.most_common(1)[0]
    text = say(
        "Pool %(pool)s: %(expired)s tasks expired before they could begin, %(most)s of them %(name)s. The pool is"
        " slower than their expiry permits.",
        pool=pool,
        expired=names.total(),
        most=most,
        name=name[:100],
    )
    yield warning(
        text, f"tasks/?state=cancelled&pool={pool}", manage("runworker", "--pool", pool), key=f"expired {pool}"
    )
