"""Alarms about keys of the encryption: a process encrypts with a key that a worker does not have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from queueops import conf
from queueops.inspect.alarm import Alarm, danger, manage
from queueops.inspect.alarms import live, places
from queueops.inspect.store import LATE_MS, open_reader
from queueops.inspect.workers import MOST
from queueops.model.encryption import CLEAR, ids_of
from queueops.model.sentences import say_n
from queueops.redis.query_replies import Beat


def key_alarms(pool: str, sampled: Mapping[str, Any], beats: Sequence[Beat]) -> Iterator[Alarm]:
    """An alarm for each key with which a live worker or this process encrypts, and which live workers of the pool lack.

    Workers of older versions do not report their keys; nothing is said of them.
    """
    known = [(beat, beat.fields["keys"].split(",")) for beat in live(sampled, beats) if "keys" in beat.fields]
    first = {keys[0] for _, keys in known}.union(ids_of(conf.current().encryption)[:1])
    for key in sorted(first - {"", CLEAR}):
        if without := [beat for beat, keys in known if key not in keys]:
            text = say_n(
                "Pool %(pool)s: Values are encrypted with the key %(key)s, which %(n)s worker lacks%(places)s: tasks go"
                " into quarantine.",
                "Pool %(pool)s: Values are encrypted with the key %(key)s, which %(n)s workers lack%(places)s: tasks go"
                " into quarantine.",
                len(without),
                pool=pool,
                key=key,
                places=places(without),
            )
            yield danger(text, "workers", manage("queueops", "doctor"), key=f"keys {pool} {key}")


def with_other_key() -> list[Beat]:
    """Live workers of any pool whose first entry of the setting is not that of this process."""
    reader = open_reader()
    own = (*ids_of(conf.current().encryption), CLEAR)[0]
    now, beats = reader.workers(reader.pools(), MOST)
    alive = {beat.id: beat for _, beat in beats if now - beat.beat_ms <= LATE_MS and "keys" in beat.fields}
    return [beat for beat in alive.values() if (beat.fields["keys"].split(",")[0] or CLEAR) != own]
