"""Worker processes: host, slots with their tasks, and condition."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from queueops.inspect.answers import Answer, Listing, broken_pools
from queueops.inspect.spans import span
from queueops.inspect.store import LATE_MS, UNRESPONSIVE, open_reader
from queueops.model.sentences import say
from queueops.redis.query_replies import Beat, maybe_whole, whole

MOST = 500
MOST_APART_MS = 30_000
"""A clock that differs by less is not wrong: a heartbeat may have been on its way for seconds."""
MOST_NAMES = 200
"""The most task names in a heartbeat; a list of that length may be cut, and proves nothing."""


class RunningTask(Answer, frozen=True, kw_only=True):
    """The task in a worker's slot."""

    id: str
    name: str
    pool: str
    since_ms: int  # time of its start


class WorkerRow(Answer, frozen=True, kw_only=True):
    """A worker process, as in its last heartbeat."""

    id: str
    host: str
    pid: int
    version: str
    pools: tuple[str, ...]
    lanes: tuple[str, ...] = ()  # patterns of the lanes that it serves; without any: all
    kinds: tuple[str, ...] = ()  # kinds of records that it takes, or with a ! those that it leaves; without any: all
    slots: int
    busy: int
    beat_ms: int
    started_ms: int
    rss: int  # bytes
    running: tuple[RunningTask, ...] = ()
    state: str = "live"  # live, quiet, silent, hung, late, frozen, dead
    facts: tuple[tuple[str, str], ...] = ()  # what kinds say of it, such as how full its disk is
    silent_since_ms: int | None = None  # last sign of life of a silent or hung process


def workers() -> Listing[WorkerRow]:
    """The processes in the registry, at most 500 of each pool, sorted by host and start."""
    reader = open_reader()
    now, beats = reader.workers(reader.pools(), MOST)
    return Listing(worker_rows(now, (beat for _, beat in beats)), broken_pools(reader.broken, reader.silent))


def worker_rows(now: int, beats: Iterable[Beat]) -> list[WorkerRow]:
    """One row for each process, even if it sends heartbeats to several pools."""
    latest: dict[str, Beat] = {}
    for beat in beats:
        if beat.id not in latest or beat.beat_ms > latest[beat.id].beat_ms:
            latest[beat.id] = beat
    rows = [_row(now, beat) for beat in latest.values()]
    return sorted(rows, key=lambda row: (row.host, row.started_ms, row.id))


def names_of(beat: Beat) -> list[str]:
    """The task names that the worker reports."""
    return [name for name in beat.fields.get("names", "").split(",") if name]


def lanes_of(beat: Beat) -> tuple[str, ...]:
    """The patterns of lanes that the worker serves; empty: all lanes."""
    return tuple(filter(None, beat.fields.get("lanes", "").split(",")))


def serves(beat: Beat, lane: str) -> bool:
    """Whether the worker serves a lane."""
    return matches_lane(lanes_of(beat), lane)


def kinds_of(beat: Beat) -> tuple[str, ...]:
    """The kinds of records that the worker takes, or with a `!` those that it leaves; empty: all kinds."""
    return tuple(filter(None, beat.fields.get("kinds", "").split(",")))


def takes_kind(beat: Beat, kind: str) -> bool:
    """Whether the worker takes records of a kind."""
    kinds = kinds_of(beat)
    only = [each for each in kinds if not each.startswith("!")]
    return f"!{kind}" not in kinds and (not only or kind in only)


def matches_lane(patterns: Sequence[str], lane: str) -> bool:
    """Whether a worker with these patterns serves a lane; without any it serves all."""
    return not patterns or any(fnmatchcase(lane, pattern) for pattern in patterns)


def names_told(beats: Iterable[Beat]) -> list[list[str]]:
    """The task names that each worker reports. Empty if any reports none, or so many that its list may be cut."""
    told = [names_of(beat) for beat in beats]
    return [] if any(not names or len(names) >= MOST_NAMES for names in told) else told


def clock_apart_ms(beat: Beat) -> int | None:
    """How far the clock of a worker's host is ahead of that of the store; None if its heartbeat does not tell."""
    clock, at = (whole(beat.fields.get(name)) for name in ("clock", "beat"))  # of one write; `beat_ms` may be later
    return clock - at if clock and beat.fields.get("state") not in UNRESPONSIVE else None


def fate_of(beat: Beat) -> str:
    """What became of a worker without a heartbeat: frozen or dead, as far as this machine can see its process.

    On another machine the process cannot be seen: `late`.
    """
    if beat.fields.get("host") != os.uname().nodename or not Path("/proc/self/stat").exists():
        return "late"
    try:
        state = Path(f"/proc/{whole(beat.fields.get('pid'))}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return "dead"
    return {"T": "frozen", "t": "frozen", "Z": "dead", "X": "dead"}.get(state, "late")


def _row(now: int, beat: Beat) -> WorkerRow:
    field = beat.fields.get
    return WorkerRow(
        id=beat.id,
        host=field("host", ""),
        pid=whole(field("pid")),
        version=field("version", ""),
        pools=tuple(filter(None, field("pools", "").split(","))),
        lanes=lanes_of(beat),
        kinds=kinds_of(beat),
        slots=whole(field("slots")),
        busy=whole(field("busy")),
        beat_ms=beat.beat_ms,
        started_ms=whole(field("started")),
        rss=whole(field("rss")),
        running=running_of(beat),
        facts=(*_clock(beat), *_executor(beat), *_facts(beat)),
        state=_state(now, beat),
        silent_since_ms=maybe_whole(field("silent_since")) if field("state") in UNRESPONSIVE else None,
    )


def _state(now: int, beat: Beat) -> str:
    if now - beat.beat_ms > LATE_MS:
        return fate_of(beat)
    if beat.fields.get("state") in UNRESPONSIVE:
        return beat.fields["state"]
    return "quiet" if beat.fields.get("state") in ("quiet", "stopping") else "live"


def _clock(beat: Beat) -> Iterator[tuple[str, str]]:
    if abs(ms := clock_apart_ms(beat) or 0) > MOST_APART_MS:
        text = say("%(time)s behind that of the store", time=span(-ms))
        yield "clock", say("%(time)s ahead of that of the store", time=span(ms)) if ms > 0 else text


def _executor(beat: Beat) -> Iterator[tuple[str, str]]:
    if reason := beat.fields.get("executor"):
        yield "executor", say("not available: %(reason)s", reason=reason)


def _facts(beat: Beat) -> tuple[tuple[str, str], ...]:
    """What kinds say of the worker; empty for an older worker, and for an unreadable heartbeat."""
    try:
        found = json.loads(beat.fields.get("facts") or "{}")
        return tuple((str(name), str(value)) for name, value in found.items())
    except (ValueError, AttributeError):
        return ()


def running_of(beat: Beat) -> tuple[RunningTask, ...]:
    """The running tasks, from `[[id, name, epoch ms of its start, pool], ...]`; empty for an unreadable heartbeat."""
    try:
        rows = json.loads(beat.fields.get("running") or "[]")
        return tuple(
            RunningTask(id=str(task_id), name=str(name), pool=str(pool), since_ms=int(ms))
            for task_id, name, ms, pool in rows
        )
    except (ValueError, TypeError):
        return ()
