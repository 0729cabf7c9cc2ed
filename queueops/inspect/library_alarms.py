"""Alarms about the Lua library: workers that the store refuses it, so that they neither claim nor settle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import structs

from queueops.inspect.alarm import CHECK, Alarm, danger
from queueops.inspect.alarms import live, places
from queueops.model.sentences import say_n
from queueops.redis.query_replies import Beat


def library_alarms(pool: str, sampled: Mapping[str, Any], beats: Sequence[Beat]) -> Iterator[Alarm]:
    """The alarm of a pool whose server refuses the library of live workers, with the reason that the latest one told.

    Each of these workers says so in its heartbeats, until a round trip works again.
    """
    refused = [beat for beat in live(sampled, beats) if beat.fields.get("refused")]
    if refused:
        latest = max(refused, key=lambda beat: beat.beat_ms)
        text = say_n(
            "%(n)s worker claims no task of pool %(pool)s, and no outcome is stored%(places)s: %(reason)s",
            "%(n)s workers claim no task of pool %(pool)s, and no outcome is stored%(places)s: %(reason)s",
            len(refused),
            pool=pool,
            places=places(refused),
            reason=latest.fields["refused"],
        )
        yield structs.replace(danger(text, "workers", CHECK), key="library")
