"""What is wrong with a pool whose script met a key of another type than it should be."""

from __future__ import annotations

from typing import Any

from queueops.redis.keys import Keys
from queueops.states import ChunkState, State

TYPES = {
    "zset": (
        "agenda",
        "commands",
        "commands_dead",
        "commands_locked",
        "errors",
        "idle",
        "lanes",
        "lanes_ready",
        "names",
        "tags",
        "trashed",
        "workers",
    ),
    "hash": ("clock", "counts"),
    "string": ("seq",),
}


def foreign_keys(client: Any, keys: Keys) -> list[str]:
    """The pool's own keys that hold something else than they should, each with what it holds."""
    expected = {getattr(keys, name): kind for kind, names in TYPES.items() for name in names}
    expected |= {keys.state(state): "zset" for state in (*State, ChunkState.ACTIVE)}
    expected[keys.lane("default")] = "zset"
    with client.pipeline(transaction=False) as pipe:
        for key in expected:
            pipe.type(key)
        found = [kind.decode() for kind in pipe.execute()]
    pairs = zip(expected.items(), found, strict=True)
    return [f"{key} is a {kind}, not a {wanted}" for (key, wanted), kind in pairs if kind not in (wanted, "none")]
