"""New marks of the history, for the watchdog that keeps them: the alarms of a pool now, and workers that started."""

from __future__ import annotations

import time

from queueops.inspect.snapshot import WORKERS, pools_and_alarms
from queueops.inspect.store import open_reader
from queueops.model.marks import START, Condition, Mark, Seen
from queueops.model.stored_sentences import packed
from queueops.redis.query_replies import Beat, whole

RECENT_MS = 3_600_000
"""Starts of workers that a watchdog reports when it begins: those of the last hour."""


def seen(pool: str) -> Seen:
    """What the watchdog keeps of a pool: its alarms now, and the workers that started within an hour."""
    reader = open_reader()
    glance = reader.glance([pool], WORKERS)
    _pools, alarms = pools_and_alarms(reader, [pool], glance)
    beats = [beat for each in glance.values() for beat in each.beats]
    since = max((beat.beat_ms for beat in beats), default=round(time.time() * 1000)) - RECENT_MS
    return Seen(
        conditions=[Condition(alarm.key, alarm.text, alarm.level, packed(alarm.text)) for alarm in alarms],
        starts=[_start(pool, beat) for beat in beats if whole(beat.fields.get("started")) >= since],
    )


def _start(pool: str, beat: Beat) -> Mark:
    field = beat.fields.get
    version = field("version", "")
    # The find box reads the host and the process out of this text: see `redis/lua/look_up.lua`.
    text = f"Worker {field('host', '')} process {field('pid', '')} of pool {pool} started, version {version}."
    return Mark(START, beat.id, text, at_ms=whole(field("started")), version=version, names=field("names_hash", ""))
