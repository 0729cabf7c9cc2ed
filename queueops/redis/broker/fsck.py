"""Consistency check (fsck): walks everything that names a task or a chunk, in parts; a script examines each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import redis
from redis.exceptions import ResponseError

from queueops.conf import Settings
from queueops.model.records import FIELDS, WHOLE
from queueops.model.states import State
from queueops.redis.base import StoreClient
from queueops.redis.keys import KINDS, kind_of
from queueops.redis.query_replies import text
from queueops.redis.wrong_types import WRONGTYPE, replies

STEP = 100
"""About how many tasks one call examines."""
MOST_LANES = 10_000
RECORDS, HELD = "records", "held"
NAMES, RUNNING = "names", "running"
"""What is counted again at the end, when everything else is in its place."""
MOST_COUNTED, NAMES_AT_ONCE = 5_000, 5
"""Above this size of an index, counters that only a walk could verify are left unchanged."""
CHUNK = re.compile(r"[^#]+#[0-9]+")
RECORD_KINDS = ("task:<id>", "task:<id>#<number>", "command:<id>")
"""Keys that the script itself reports as unreadable, if their type is wrong. They are quarantined."""
KEY, ADVICE = "~key:", "Delete it, or restore it."
Faults = list[tuple[str, str]]
_WHOLE = " ".join(f"{short}:{name}" for short, name in FIELDS.items() if name in WHOLE)


class Checked(NamedTuple):
    """One step: how many tasks and chunks were examined, the faults (id, why), and where the next begins ('' = end)."""

    looked: int
    faults: list[tuple[str, str]]
    next: str


class Places:
    """Places that name tasks, in the order of the check, and the tasks found so far. Several places may name one."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.number = {name: number for number, name in enumerate(names)}
        self._found: set[int] = set()

    def new(self, faults: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """The tasks that this walk has not found before under another of their names."""
        fresh = [fault for fault in dict.fromkeys(faults) if hash(fault) not in self._found]
        self._found.update(map(hash, fresh))
        return fresh

    def next(self, place: str, cursor: str) -> str:
        """Where the next step begins; empty at the end."""
        if cursor != "0":
            return f"{place} {cursor}"
        number = self.number[place] + 1
        return f"{self.names[number]} 0" if number < len(self.names) else ""


class FsckCalls(StoreClient):
    """Steps of a check. Workers may continue meanwhile: a task is examined and repaired in one call."""

    def __init__(self, settings: Settings) -> None:
        """Bind the settings. The list of places is read once per walk: with very many lanes, that takes time."""
        super().__init__(settings)
        self._walked: dict[tuple[str, bool], Places] = {}

    def check(self, pool: str, after: str = "", *, repair: bool = False, counters: bool = True) -> Checked:
        """The step that begins at `after`. Raises BrokenPool if nothing can be checked because of a broken key.

        A repair corrects the display counters, too, unless ``counters`` is false.
        """
        try:
            return self._check(pool, after, repair=repair, counters=counters)
        except ResponseError as error:
            raise self.explained(pool, error) from error

    def _check(self, pool: str, after: str, *, repair: bool, counters: bool) -> Checked:
        places = self._places_of(pool, after, counters=repair and counters)
        place, _, cursor = after.rpartition(" ") if after else (places.names[0], "", "0")
        if place not in places.number:  # a lane that was deleted meanwhile
            place, cursor = next((each for each in places.names if each > place), RECORDS), "0"
        if place in (NAMES, RUNNING):
            return self._recount(pool, places, place, cursor)
        ids, cursor, faults = self._walk(pool, place, cursor)
        lane = place.partition(":")[2] if place.startswith(("lane:", "slots:", "round:")) else ""
        if ids or place.startswith("round:"):
            faults += _pairs(self._call("fsck", pool, int(repair), lane, _WHOLE, "", self.rules, *ids))
        return Checked(len(ids), places.new(faults), places.next(place, cursor))

    def _recount(self, pool: str, places: Places, place: str, cursor: str) -> Checked:
        """Correct the display counters, those of names in portions."""
        if place == RUNNING:
            return Checked(0, _pairs(self._call("recount", pool, MOST_COUNTED)), places.next(place, cursor))
        key, found = self.keys(pool).names, []
        (page,) = self.ask(pool, lambda client: replies(client, lambda pipe: pipe.zscan(key, int(cursor), count=STEP)))
        following, rows = page or (0, ())
        names = list(dict.fromkeys(name for name, _ in rows))
        for start in range(0, len(names), NAMES_AT_ONCE):
            found += self._call("recount", pool, MOST_COUNTED, *names[start : start + NAMES_AT_ONCE])
        return Checked(0, _pairs(found), places.next(place, str(following)))

    def _places_of(self, pool: str, after: str, *, counters: bool) -> Places:
        """The places of a walk; a walk of another process, or a forgotten one, is read again."""
        found = self._walked.get((pool, counters)) if after else None
        if found is None:
            found = Places(self._places(pool) + ([NAMES, RUNNING] if counters else []))
            self._walked[pool, counters] = found
        return found

    def _places(self, pool: str) -> list[str]:
        key = self.keys(pool).lanes
        (known,) = self.ask(pool, lambda client: replies(client, lambda pipe: pipe.zrevrange(key, 0, MOST_LANES - 1)))
        lanes = sorted({"default", *map(text, known or ())})
        of_lanes = [f"{part}:{lane}" for part in ("lane", "slots", "round") for lane in lanes]
        return sorted(["agenda", HELD, *of_lanes, RECORDS, *(f"state:{state}" for state in State)], key=_rank)

    def _walk(self, pool: str, place: str, cursor: str) -> tuple[list[str], str, Faults]:
        keys = self.keys(pool)
        kind, _, name = place.partition(":")
        if kind == "round":
            return [], "0", []
        if kind == RECORDS:
            return self._records(pool, cursor)

        def scan(client: redis.Redis) -> Any:
            if kind == "slots":
                return client.sscan(keys.lane_active(name), int(cursor), count=STEP)
            places = {
                "agenda": keys.agenda,
                "state": keys.state(name),
                "lane": keys.lane(name),
                HELD: keys.state("active"),
            }
            key = places[kind]
            return client.zscan(key, int(cursor), count=STEP)

        try:
            following, found = self.ask(pool, scan)
        except ResponseError as error:
            if WRONGTYPE not in str(error):
                raise
            return [], "0", []  # the scan of all keys names it
        members = (text(row) if kind == "slots" else text(row[0]) for row in found)
        return list(dict.fromkeys(_tasks(members))), str(following), []

    def _records(self, pool: str, cursor: str) -> tuple[list[str], str, Faults]:
        """Records and commands, whether an index names them or not; and keys of a wrong type.

        Only this scans the keys, on the pool's node.
        """
        prefix = f"{self.keys(pool).prefix}:"
        following, found = self.ask(pool, lambda client: client.scan(int(cursor), match=f"{prefix}*", count=STEP))
        kinds = {key: kind for key in found if (kind := kind_of(text(key)[len(prefix) :]))}
        types = self.ask(pool, lambda client: replies(client, lambda pipe: [pipe.type(key) for key in kinds]))
        faults = [
            (f"{KEY}{text(key)[len(prefix) :]}", f"{text(key)} is a {text(type)}, not a {KINDS[kind]}. {ADVICE}")
            for (key, kind), type in zip(kinds.items(), types, strict=True)
            if kind not in RECORD_KINDS and text(type) not in ("none", KINDS[kind])
        ]
        parts = [text(key)[len(prefix) :].partition(":") for key in kinds]
        ids = _tasks(rest for family, _, rest in parts if family == "task")
        commands = (f"~command:{rest}" for family, _, rest in parts if family == "command")
        return list(dict.fromkeys([*ids, *commands])), str(following), faults


def _pairs(found: list[bytes]) -> list[tuple[str, str]]:
    words = iter(map(text, found))
    return list(zip(words, words, strict=True))


def _rank(place: str) -> tuple[int, str]:
    """Rank: records come last, those of chunks too. A record that no index names is put into one there."""
    return (place == RECORDS, place)


def _tasks(members: Iterator[str]) -> Iterator[str]:
    """Remove what is neither a task nor a chunk: lanes and jobs on the agenda, second runs, sub-keys of records."""
    return (
        member for member in members if not member.startswith("~") and ("#" not in member or CHUNK.fullmatch(member))
    )
