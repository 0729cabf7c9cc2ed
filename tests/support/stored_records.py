"""All records of a pool, as the broker of an eager block has them."""

from __future__ import annotations

from typing import Any

from queueops.model.records import Record


def records_of(broker: Any, pool: str = "default") -> list[Record]:
    """Those on the store of the block."""
    start = f"{broker.keys(pool).prefix}:task:"
    ids = [key.decode().removeprefix(start) for key in broker.at(pool).scan_iter(f"{start}*")]
    return [broker.record(pool, each) for each in ids if "#" not in each]
