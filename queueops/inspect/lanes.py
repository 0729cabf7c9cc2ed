"""Lane questions: waiting tasks, running tasks and limits of each lane.

Lanes come from one sample of each pool, also lanes of parts. A process can share its last sample with other callers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from queueops.inspect import pagination
from queueops.inspect.answers import Answer, Broken, Listing, broken_pools
from queueops.inspect.estimates import Estimate, Model
from queueops.inspect.lane_labels import lane_label, remember
from queueops.inspect.lane_origin import LaneOrigin, lane_origin, removal, told
from queueops.inspect.shared_readings import SharedReadings
from queueops.inspect.store import open_reader, pools_of

MOST = 200
INDEX = "lanes"


class LaneRow(Answer, frozen=True, kw_only=True):
    """A lane: its settings and its queue now."""

    pool: str
    lane: str
    ready: int
    active: int
    limit: int | None = None
    rate: float | None = None  # starts per second; None: no limit
    spent: bool = False  # the rate limit permits no start now
    paused: bool = False
    oldest_ms: int | None = None  # time when its oldest ready task became ready
    weight: int = 1
    drain_s: float | None = None  # seconds until all that waits in it now has run; None: unknown, or see the reason
    drain_reason: str = ""  # no worker, paused, limit 0 (never, until that is mended), or no run yet
    start_rate: float = 0.0  # estimated starts per second while it has work
    title: str = ""  # what the lane of a kind stands for, such as the id of an aggregation
    origin: str = ""  # of limit, rate or weight that are not as the settings say: operator, left (by earlier settings)
    restores: dict[str, float | None] = {}  # those values, by name, as the settings have them; None: no limit

    def __post_init__(self) -> None:
        """Remember the title, for other questions."""
        super().__post_init__()
        remember(self.lane, self.title)

    @property
    def label(self) -> str:
        """Its name; where that has a digest, the title in place of it."""
        return lane_label(self.lane, self.title)

    @property
    def as_settings(self) -> dict[str, float | None]:
        """Limit, rate and weight as the settings have them."""
        return {"limit": self.limit, "rate": self.rate, "weight": self.weight} | self.restores

    @property
    def told_origin(self) -> str:
        """Where the values come from that are not those of the settings."""
        return told(self.origin) if self.origin else ""

    @property
    def removal(self) -> str:
        """The origin in a sentence, with the command that gives the lane the values of the settings."""
        return removal(self.pool, self.lane, LaneOrigin(self.origin, self.restores)) if self.origin else ""


class LanePage(Answer, frozen=True, kw_only=True):
    """One page of lanes, the latest used first; `next` continues it, empty at the end."""

    rows: tuple[LaneRow, ...]
    next: str = ""
    broken: tuple[Broken, ...] = ()


class _Sampled(NamedTuple):
    """The sample of each pool, and the pools that could not be read in full."""

    samples: dict[str, dict[str, Any]]
    broken: tuple[Broken, ...]


_SAMPLES: SharedReadings[_Sampled] = SharedReadings()
_PAGES: SharedReadings[LanePage] = SharedReadings()


def lanes(pool: str = "", *, max_age_s: float = 0.0) -> Listing[LaneRow]:
    """The lanes of a pool or of all, by pool, the latest used first; at most 200 of each.

    The answer may be one that this process read up to ``max_age_s`` seconds ago, also for a kind's lanes of parts.
    """
    found = _sampled(pool, max_age_s)
    return Listing((row for name, sampled in found.samples.items() for row in lane_rows(name, sampled)), found.broken)


def lane_page(pool: str = "", after: str = "", *, max_age_s: float = 0.0) -> LanePage:
    """All lanes of a pool or of all, page by page: `after` is the `next` of the page before.

    The first page has at most 200 of each pool, and is of the reading of `lanes`; a later one has at most 200 in all.
    The answer may be one that this process read up to ``max_age_s`` seconds ago. Raises FilterError for a wrong
    `after`.
    """
    if after:
        return _PAGES.read((pool, after), max_age_s, lambda: _page(pool, after))
    found = _sampled(pool, max_age_s)
    rows = tuple(row for name, sampled in found.samples.items() for row in lane_rows(name, sampled))
    lists = {name: sampled["lanes"] or [] for name, sampled in found.samples.items()}
    more = {name: _place(listed[-1]) for name, listed in lists.items() if len(listed) == MOST}
    return LanePage(rows=rows, next=pagination.write(more), broken=found.broken)


def _page(pool: str, after: str) -> LanePage:
    reader = open_reader()
    places = pagination.read(after, pools_of(reader, pool), (INDEX,))
    replies = reader.ask("lane_page", {name: (used, lane, MOST) for name, (_, used, lane) in places.items()})
    walks = {name: _walk(places[name], *reply) for name, reply in replies.items()}
    taken, following = pagination.merge(walks, MOST, lambda _, row: -int(row["used"]))
    return LanePage(
        rows=tuple(_row(name, row, Estimate()) for name, row in taken),
        next=pagination.write(following),
        broken=broken_pools(reader.broken, reader.silent),
    )


def _walk(start: pagination.Place, more: bytes, found: Sequence[bytes]) -> pagination.Walk[dict[str, Any]]:
    rows = [(_place(row), row) for row in map(json.loads, found)]
    return pagination.Walk(start=start, rows=rows, next=rows[-1][0] if more and rows else None)


def _place(row: dict[str, Any]) -> pagination.Place:
    return INDEX, str(row["used"]), str(row["lane"])


def pool_samples(pool: str, max_age_s: float) -> dict[str, dict[str, Any]]:
    """The sample of each pool; that of `lanes`, if this process read it up to ``max_age_s`` seconds ago."""
    return _sampled(pool, max_age_s).samples


def _sampled(pool: str, max_age_s: float) -> _Sampled:
    return _SAMPLES.read(pool, max_age_s, lambda: _sample(pool))


def _sample(pool: str) -> _Sampled:
    reader = open_reader()
    samples = reader.samples(pools_of(reader, pool), MOST, is_brief=True)
    broken = {name: sampled.get("broken") or () for name, sampled in samples.items()}
    return _Sampled(samples, broken_pools(broken, reader.silent))


def lane_rows(pool: str, sampled: dict[str, Any], model: Model | None = None) -> list[LaneRow]:
    """The lanes in a pool's sample; with a model also when each is empty."""
    return [_row(pool, row, model.lane(str(row["lane"])) if model else Estimate()) for row in sampled["lanes"] or ()]


def _row(pool: str, row: dict[str, Any], estimate: Estimate) -> LaneRow:
    lane, said = str(row["lane"]), row.get("said")
    limit = None if row.get("limit") is None else int(row["limit"])
    rate = None if row.get("rate") is None else float(row["rate"])
    weight = row.get("weight") or 1
    values = {"limit": limit, "rate": rate, "weight": weight}
    origin = LaneOrigin() if said is None else lane_origin(pool, lane, values, said or {})
    return LaneRow(
        pool=pool,
        lane=lane,
        ready=int(row["ready"]),
        active=int(row["active"]),
        limit=limit,
        rate=rate,
        spent=bool(row.get("spent")),
        paused=bool(row.get("paused")),
        oldest_ms=None if row.get("oldest") is None else int(row["oldest"]),
        weight=weight,
        drain_s=estimate.seconds,
        drain_reason=estimate.reason,
        start_rate=estimate.per_s,
        title=str(row.get("title") or ""),
        origin=origin.word,
        restores=dict(origin.restores),
    )
