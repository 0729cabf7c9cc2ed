"""Split slots: keys on another server of a cluster than the one that has their slot.

The source of a move dies, and its replica takes over. Before Valkey 8 that replica knows nothing of the move. The
target of the move does not have the slot, but holds the keys that had moved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import redis
from redis.exceptions import RedisError


def stranded(owner: redis.Redis, slot: int, connect: Callable[[str, int], redis.Redis]) -> tuple[int, str]:
    """How many keys of the owner's slot another primary has, and its address; 0 if there is none, or a move goes on.

    A primary that does not answer is left out.
    """
    for address, node in owner.cluster("NODES").items():
        if {"master", "fail", "noaddr", "myself"}.intersection(_flags(node)) != {"master"}:
            continue
        host, _, port = address.rpartition(":")
        with suppress(RedisError, OSError), connect(host, int(port)) as client:
            count = int(client.cluster("COUNTKEYSINSLOT", slot))
            if count and _has_whole(owner, slot):
                return count, address
    return 0, ""


def _has_whole(owner: redis.Redis, slot: int) -> bool:
    """Whether a server says that it has the slot, and that it does not move."""
    own = next(node for node in owner.cluster("NODES").values() if "myself" in _flags(node))
    return any(int(each[0]) <= slot <= int(each[-1]) for each in own["slots"]) and not any(  # one number, or two
        int(each["slot"]) == slot for each in own["migrations"]
    )


def _flags(node: Mapping[str, Any]) -> list[str]:
    flags: list[str] = node["flags"].split(",")
    return flags
