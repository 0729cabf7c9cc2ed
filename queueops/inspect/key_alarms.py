"""Alarms about keys of the encryption: a process encrypts with a key that a worker does not have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from queueops import conf
from queueops.inspect.alarm import Alarm, danger, manage
from queueops.inspect.alarms import live, places
from queueops.inspect.store import LATE_MS, open_reader
from queueops.inspect.workers import MOST
from queueops.model.encryption import CLEAR, ids_of
from queueops.model.sentences import say, say_n
from queueops.redis.query_replies import Beat

NOTED_S = 180.0
"""So long the keys of a process count as in use after it noted them, which it does once a minute while it works."""


def noted_keys(beats: Iterable[Beat]) -> list[list[str]]:
    """The keys of all processes that worked lately, workers or not; none if no setting and no worker has a key."""
    if not conf.current().encryption and not any(beat.fields.get("keys") for beat in beats):
        return []
    broker = open_reader().broker
    broker.note_use()
    return broker.library_use.key_ids(NOTED_S)


def process_alarms(noted: Sequence[Sequence[str]], beats: Iterable[Beat]) -> Iterator[Alarm]:
    """An alarm for each key with which a process encrypts, and which a process that is no worker lacks.

    `beats` are those of all workers: the keys of any other process are of no worker.
    """
    of_workers = [beat.fields["keys"].split(",") for beat in beats if "keys" in beat.fields]
    for key in _in_use([*noted, *of_workers]):
        if any(key not in keys and list(keys) not in of_workers for keys in noted):
            text = say(
                "Values are encrypted with the key %(key)s. A process that is no worker lacks it, such as a web"
                " process, and cannot read them. Set the keys in all processes, and restart them.",
                key=key,
            )
            yield danger(text, "workers", manage("queueops", "doctor"), key=f"keys {key}")


def _in_use(known: Iterable[Sequence[str]]) -> list[str]:
    """The keys that encrypt: the first ones."""
    return sorted({keys[0] for keys in known}.union(ids_of(conf.current().encryption)[:1]) - {"", CLEAR})


def key_alarms(
    pool: str, sampled: Mapping[str, Any], beats: Sequence[Beat], noted: Iterable[Sequence[str]]
) -> Iterator[Alarm]:
    """An alarm for each key with which a process encrypts, and which live workers of the pool lack.

    Workers of older versions do not report their keys; nothing is said of them.
    """
    known = [(beat, beat.fields["keys"].split(",")) for beat in live(sampled, beats) if "keys" in beat.fields]
    for key in _in_use([*noted, *(keys for _, keys in known)]):
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


class OtherKeys(NamedTuple):
    """Processes that write under another entry of the setting than this process, which is the first one of theirs."""

    workers: list[Beat]
    """Live workers of any pool."""
    beside: list[list[str]]
    """The keys of processes beside them, such as web processes, that worked within NOTED_S."""


def with_other_key() -> OtherKeys:
    """The processes whose first entry of the setting is not that of this process."""
    reader = open_reader()
    own = _first(ids_of(conf.current().encryption))
    now, beats = reader.workers(reader.pools(), MOST)
    alive = {beat.id: beat for _, beat in beats if now - beat.beat_ms <= LATE_MS and "keys" in beat.fields}
    told = {beat.id: beat.fields["keys"].split(",") for beat in alive.values()}
    workers = [beat for beat in alive.values() if _first(told[beat.id]) != own]
    noted = noted_keys(alive.values())
    return OtherKeys(workers, [keys for keys in noted if keys not in told.values() and _first(keys) != own])


def _first(keys: Sequence[str]) -> str:
    return next(iter(keys), "") or CLEAR
