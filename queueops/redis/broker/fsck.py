"""Consistency check (fsck): walks everything that names a task or a chunk, in parts; a script examines each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import redis
from redis.exceptions import ResponseError

from queueops.conf import Settings
from queueops.model import kinds
from queueops.model.fsck import ADVICE, KEY, Fault, FsckPage
from queueops.model.states import held, table
from queueops.redis import keys as names_of_keys
from queueops.redis.keys import kind_of
from queueops.redis.query_replies import text
from queueops.redis.store_client import StoreClient

STEP = 100
"""About how many tasks one call examines."""
MOST_LANES = 10_000
RECORDS, HELD, OWN = "records", "held", "own"
NAMES, RUNNING = "names", "running"
"""What is counted again at the end, when everything else is in its place."""
MOST_COUNTED, NAMES_AT_ONCE = 5_000, 5
"""Above this size of an index, counters that only a walk could verify are left unchanged."""
PART = re.compile(r"[^#]+#[0-9]+")
RECORD_KINDS = ("task:<id>", "task:<id>#<number>", "command:<id>")
"""Keys that the script itself reports as unreadable, if their type is wrong. They are quarantined."""


class Places:
    """Places that name tasks, in the order of the check, and the faults found so far.

    Several places may name the same task.
    """

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.number = {name: number for number, name in enumerate(names)}
        self._found: set[int] = set()

    def new(self, faults: Iterable[Fault]) -> tuple[Fault, ...]:
        """Return the faults that this walk has not returned yet. Several places can lead to the same fault."""
        fresh = tuple(fault for fault in dict.fromkeys(faults) if hash(fault) not in self._found)
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

    def check(self, pool: str, after: str = "", *, repair: bool = False, counters: bool = True) -> FsckPage:
        """The step that begins at `after`. Raises BrokenPool if nothing can be checked because of a broken key.

        A repair corrects the display counters, too, unless ``counters`` is false.
        """
        places = self._places_of(pool, after, counters=repair and counters)
        place, _, cursor = after.rpartition(" ") if after else (places.names[0], "", "0")
        if place not in places.number:  # a lane that was deleted meanwhile
            place, cursor = next((each for each in places.names if each > place), RECORDS), "0"
        try:
            ids, cursor, faults = self._walk(pool, place, cursor)
        except ResponseError as error:
            raise self.explained(pool, error) from error
        lane = place.partition(":")[2] if place.startswith(("lane:", "slots:", "round:")) else ""
        if ids or place.startswith("round:"):
            faults += self._checked(pool, repair, lane, ids)
        return FsckPage(faults=places.new(faults), looked=len(ids), next=places.next(place, cursor))

    def _checked(self, pool: str, repair: bool, lane: str, ids: list[str]) -> list[Fault]:
        """The faults that the script finds. What it leaves for later has calls of its own."""
        found: list[Fault] = []
        waiting = [(pool, ids)]
        while waiting:
            place, entries = waiting.pop()
            name = "fsck" if repair else "look_fsck"
            reply = self._call(name, place, int(repair), lane, _whole_fields(), "", self.rules, *entries)
            for fault in _faults(place, reply):
                if fault.text:
                    found.append(fault)
                else:
                    waiting += [(each, [entry]) for each, entry in self._followed(place, fault.id)]
        return found

    def _followed(self, pool: str, entry: str) -> Iterable[tuple[str, str]]:
        """The pool that examines an entry next; of what a kind examines itself, the entries that it finds."""
        word, _, rest = entry.removeprefix("~").partition(":")
        for examined in kinds.roles("examines"):
            if word in examined:
                return tuple(examined[word](self, pool, rest))
        return ((pool, entry),)

    def _places_of(self, pool: str, after: str, *, counters: bool) -> Places:
        """The places of a walk; a walk of another process, or a forgotten one, is read again."""
        found = self._walked.get((pool, counters)) if after else None
        if found is None:
            found = Places(self._places(pool) + ([NAMES, RUNNING] if counters else []))
            self._walked[pool, counters] = found
        return found

    def _places(self, pool: str) -> list[str]:
        key = self.keys(pool).lanes
        known = self.ask_one(pool, lambda client: client.zrevrange(key, 0, MOST_LANES - 1))
        lanes = sorted({"default", *map(text, known or ())})
        of_lanes = [f"{part}:{lane}" for part in ("lane", "slots", "round") for lane in lanes]
        of_parts = [f"{HELD}:{state}" for state in held() if state not in table().leased]
        of_states = [f"state:{state}" for state in table().states]
        return sorted(["agenda", OWN, *of_parts, *of_lanes, RECORDS, *of_states], key=_rank)

    def _walk(self, pool: str, place: str, cursor: str) -> tuple[list[str], str, list[Fault]]:
        keys = self.keys(pool)
        kind, _, name = place.partition(":")
        if kind == "round":
            return [], "0", []
        if kind == OWN:
            return ["~pool:"], "0", []
        if kind == RECORDS:
            return self._records(pool, cursor)
        if kind == NAMES:
            return self._recounted_names(pool, cursor)
        if kind == RUNNING:
            return [], "0", _faults(pool, self._call("recount", pool, MOST_COUNTED))

        def scan(client: redis.Redis) -> Any:
            if kind == "slots":
                return client.sscan(keys.lane_active(name), int(cursor), count=STEP)
            places = {
                "agenda": keys.agenda,
                "state": keys.state(name),
                "lane": keys.lane(name),
                HELD: keys.state(name),
            }
            return client.zscan(places[kind], int(cursor), count=STEP)

        page = self.ask_one(pool, scan)
        following, found = page or (0, ())  # None for a key of a wrong type: the scan of all keys names it
        members = (text(row) if kind == "slots" else text(row[0]) for row in found)
        wanted = dict.fromkeys(members if kind == "agenda" else _tasks(members))
        return list(wanted), str(following), []

    def _records(self, pool: str, cursor: str) -> tuple[list[str], str, list[Fault]]:
        """Records and commands, whether an index names them or not; and keys of a wrong type.

        Of the check's steps only this one scans the keys of the pool's server.
        """
        prefix = f"{self.keys(pool).prefix}:"
        following, found = self.ask(pool, lambda client: client.scan(int(cursor), match=f"{prefix}*", count=STEP))
        kinds = {key: kind for key in found if (kind := kind_of(text(key)[len(prefix) :]))}
        expected = names_of_keys.types()
        types = self.ask_all(pool, lambda pipe: [pipe.type(key) for key in kinds])
        faults = [
            Fault(
                pool=pool,
                id=f"{KEY}{text(key)[len(prefix) :]}",
                text=f"{text(key)} is a {text(type)}, not a {expected[kind]}. {ADVICE}",
            )
            for (key, kind), type in zip(kinds.items(), types, strict=True)
            if kind not in RECORD_KINDS and text(type) not in ("none", expected[kind])
        ]
        parts = [text(key)[len(prefix) :].partition(":") for key in kinds]
        ids = _tasks(rest for family, _, rest in parts if family == "task")
        commands = (f"~command:{rest}" for family, _, rest in parts if family == "command")
        limits = (f"~limit:{rest.rpartition('#')[0]}" for family, _, rest in parts if family == "limit")
        return list(dict.fromkeys([*ids, *commands, *limits])), str(following), faults

    def _recounted_names(self, pool: str, cursor: str) -> tuple[list[str], str, list[Fault]]:
        """Correct the display counters of some names, in portions."""
        key, found = self.keys(pool).names, []
        page = self.ask_one(pool, lambda client: client.zscan(key, int(cursor), count=STEP))
        following, rows = page or (0, ())
        names = list(dict.fromkeys(name for name, _ in rows))
        for start in range(0, len(names), NAMES_AT_ONCE):
            found += self._call("recount", pool, MOST_COUNTED, *names[start : start + NAMES_AT_ONCE])
        return [], str(following), _faults(pool, found)


def _whole_fields() -> str:
    """The fields of records that are whole numbers, each with its name."""
    return " ".join(f"{short}:{field.name}" for short, field in kinds.fields().items() if field.codec == "whole")


def _faults(pool: str, found: Iterable[bytes]) -> list[Fault]:
    words = iter(map(text, found))
    return [Fault(pool=pool, id=id, text=why) for id, why in zip(words, words, strict=True)]


def _rank(place: str) -> tuple[int, str]:
    """Sort key of a place. Records come last: one that no index names is put into an index."""
    return (place == RECORDS, place)


def _tasks(members: Iterator[str]) -> Iterator[str]:
    """Keep the ids of tasks and their parts; drop lanes and jobs on the agenda, second runs and sub-keys of records."""
    return (
        member for member in members if not member.startswith("~") and ("#" not in member or PART.fullmatch(member))
    )
