"""Alarms about the Lua library: workers that the store refuses it, so that they neither claim nor settle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import structs

from queueops.inspect.alarm import CHECK, Alarm, danger, manage
from queueops.inspect.alarms import live, places
from queueops.redis.query_replies import Beat


def library_alarms(pool: str, sampled: Mapping[str, Any], beats: Sequence[Beat]) -> Iterator[Alarm]:
    """The alarm of a pool whose server refuses the library of live workers, with the reason that the latest one told.

    Each of these workers says so in its heartbeats, until a round trip works again.
    """
    refused = [beat for beat in live(sampled, beats) if beat.fields.get("refused")]
    if refused:
        latest = max(refused, key=lambda beat: beat.beat_ms)
        told = f"{len(refused):,} {'worker claims' if len(refused) == 1 else 'workers claim'} no task of pool {pool}"
        text = f"{told}, and no outcome is stored{places(refused)}: {latest.fields['refused']}"
        yield structs.replace(danger(text, "workers", manage(*CHECK)), key="library")
