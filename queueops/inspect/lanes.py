"""The lanes: what waits in each, what runs, and what holds it up."""

from __future__ import annotations

import json
from typing import Any

from queueops.inspect.answers import LaneRow
from queueops.inspect.source import open_reader, pools_of

MOST = 200


def lanes(pool: str = "") -> list[LaneRow]:
    """The lanes of a pool or of all, by pool, the latest used first; at most 200 of each."""
    reader = open_reader()
    samples = reader.samples(pools_of(reader, pool), MOST)
    return [row for name, sampled in samples.items() for row in lane_rows(name, json.loads(sampled))]


def lane_rows(pool: str, sampled: dict[str, Any]) -> list[LaneRow]:
    """The lanes of a pool's sample."""
    return [
        LaneRow(
            pool=pool,
            lane=str(row["lane"]),
            ready=int(row["ready"]),
            active=int(row["active"]),
            limit=None if row.get("limit") is None else int(row["limit"]),
            paused=bool(row.get("paused")),
            oldest_ms=None if row.get("oldest") is None else int(row["oldest"]),
            weight=row.get("weight") or 1,
        )
        for row in sampled["lanes"] or ()
    ]
