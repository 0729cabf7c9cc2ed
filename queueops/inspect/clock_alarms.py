"""Alarms of clocks: hosts of workers whose clock differs from that of the store, as their heartbeats tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from queueops.inspect.alarm import Alarm, warning
from queueops.inspect.alarms import live
from queueops.inspect.spans import span
from queueops.inspect.workers import MOST_APART_MS, clock_apart_ms
from queueops.model.sentences import Sentence, say
from queueops.redis.query_replies import Beat

COMMAND = "timedatectl status"


def clock_alarms(samples: Mapping[str, Mapping[str, Any]], beats: Mapping[str, Sequence[Beat]]) -> Iterator[Alarm]:
    """One for each host, or one of the store if the clocks of several hosts agree against it."""
    apart: dict[str, int] = {}
    pools: dict[str, list[str]] = {}
    for pool, sampled in samples.items():
        for beat in live(sampled, beats.get(pool, ())):
            host, ms = beat.fields.get("host", ""), clock_apart_ms(beat)
            if ms is not None:
                apart[host] = ms
                pools.setdefault(host, []).append(pool)
    wrong = {host: ms for host, ms in apart.items() if abs(ms) > MOST_APART_MS}
    if len(wrong) > 1 and len(wrong) == len(apart) and max(wrong.values()) - min(wrong.values()) < MOST_APART_MS:
        behind = -next(iter(wrong.values()))
        text = say(
            "The clock of the store is %(way)s the clocks of all %(hosts)s hosts of workers. Delays and schedules"
            " follow the store.",
            way=_way(behind),
            hosts=len(wrong),
        )
        yield warning(text, "health", COMMAND, key="clock of the store")
        return
    for host, ms in wrong.items():
        text = say(
            "The clock of the host %(host)s is %(way)s that of the store: its times are wrong.",
            host=host[:100],
            way=_way(ms),
        )
        own = tuple(dict.fromkeys(pools[host]))
        yield warning(text, "workers", COMMAND, key=f"clock {host[:100]}", pools=own)


def _way(ms: int) -> Sentence:
    return say("%(time)s ahead of", time=span(ms)) if ms > 0 else say("%(time)s behind", time=span(-ms))
