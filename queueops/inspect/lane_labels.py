"""Lane labels: what an operator reads for a lane whose name has a digest in place of a text.

Such a digest has one text for ever, its title. So a process remembers the titles that it has read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from queueops.inspect.remembered import Remembered
from queueops.inspect.store import open_reader

MOST_READ = 200
"""Titles that one call reads."""
DIGEST = re.compile("[0-9a-f]{64}")
"""What a kind puts behind a `:=`; other lanes may have that sign in their names, too."""
SHOWN = 8
"""Characters of a digest whose title is not known."""
TITLES: Remembered[str] = Remembered()


def lane_label(lane: str, title: str = "") -> str:
    """The name of a lane, with the title in place of a digest; of an unknown title, the begin of the digest."""
    prefix, _, digest = lane.partition(":=")
    if not DIGEST.fullmatch(digest):
        return lane
    title = title or TITLES.get(lane) or ""
    return f"{prefix}:{title}" if title else f"{prefix}:={digest[:SHOWN]}…"


def remember(lane: str, title: str) -> None:
    """Note the title of a lane that was read anyway."""
    if title and ":=" in lane:
        TITLES.put(lane, title)


def know_lanes(lanes: Iterable[tuple[str, str]]) -> None:
    """Read the titles of these lanes, given by pool and name, that are not known: at most one round trip, mostly none.

    The lane of an aggregation that is gone has no title any more.
    """
    if wanted := unknown(lanes):
        remember_all(open_reader().titles(wanted, {})[0])


def unknown(lanes: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Those of these lanes whose titles are to be read, by pool."""
    places: dict[str, list[str]] = {}
    for pool, lane in lanes:
        if ":=" in lane and pool not in (pools := places.setdefault(lane, [])):
            pools.append(pool)
    wanted: dict[str, list[str]] = {}
    for lane in TITLES.to_read(list(places)[:MOST_READ]):
        for pool in places[lane]:
            wanted.setdefault(pool, []).append(lane)
    return wanted


def remember_all(titles: Mapping[str, str]) -> None:
    """Note the titles of lanes that were read."""
    for lane, title in titles.items():
        remember(lane, title)
