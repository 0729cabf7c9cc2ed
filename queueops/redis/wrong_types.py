"""Keys of a wrong type: which keys of a pool make a script fail, and replies in which such a key counts as empty."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from typing import Any

from queueops.model.states import held, table
from queueops.redis import keys as names_of_keys
from queueops.redis.error_translation import is_later
from queueops.redis.keys import Keys, types

WRONGTYPE = "WRONGTYPE"
MOST = 200
"""How many lanes and workers are examined: the most recently used."""
SIGNS = (WRONGTYPE, "not an integer", "not a valid float")
"""What a script's error says when a key of the pool caused it."""
_PLACEHOLDER = re.compile("<[a-z]+>")


def right(reply: Any) -> Any:
    """A reply of a pipeline; None if its key is of a wrong type. Raises any other error."""
    if not isinstance(reply, Exception):
        return reply
    if WRONGTYPE in str(reply):
        return None
    raise reply


def executed(pipe: Any) -> list[Any]:
    """The replies of a pipeline, with errors about single keys among them. Raises an error that may pass."""
    found: list[Any] = pipe.execute(raise_on_error=False)
    for reply in found:
        if isinstance(reply, Exception) and is_later(reply):
            raise reply
    return found


def replies(client: Any, fill: Callable[[Any], object], *, transaction: bool = False) -> list[Any]:
    """The replies to the commands that ``fill`` puts into a pipeline; None for each key of a wrong type."""
    with client.pipeline(transaction=transaction) as pipe:
        fill(pipe)
        return list(map(right, executed(pipe)))


def foreign_keys(client: Any, keys: Keys, lanes: Iterable[str] = (), about: Iterable[object] = ()) -> list[str]:
    """The pool's own keys of a wrong type, each with its actual type.

    Includes the keys of `lanes`, and of the tasks, workers and schedules named in `about`. Of other lanes and workers,
    the MOST most recent ones are examined.
    """
    expected = {f"{keys.prefix}:{name}": kind for name, kind in types().items() if "<" not in name}
    expected |= {keys.state(state): "zset" for state in (*table().states, *held())}
    expected |= {keys.metrics(int(time.time() // 60) - ago): "hash" for ago in (-1, 0, 1)}
    for lane in ["default", *lanes, *_members(client, keys.lanes)]:
        expected |= {keys.lane(lane): "zset", keys.lane_conf(lane): "hash", keys.lane_active(lane): "set"}
    for worker in _members(client, keys.workers):
        expected |= {keys.worker(worker): "hash", keys.wake(worker): "list"}
    for name in about:
        expected |= {
            f"{keys.prefix}:{_PLACEHOLDER.sub(str(name), kind)}": wanted
            for kind, wanted in names_of_keys.types().items()
            if "<" in kind and "<number>" not in kind
        }
    with client.pipeline(transaction=False) as pipe:
        for key in expected:
            pipe.type(key)
        found = [kind.decode() for kind in pipe.execute()]
    pairs = zip(expected.items(), found, strict=True)
    return [f"{key} is a {kind}, not a {wanted}" for (key, wanted), kind in pairs if kind not in (wanted, "none")]


def _members(client: Any, key: str) -> list[str]:
    if client.type(key) != b"zset":
        return []
    return [member.decode("utf-8", "replace") for member in client.zrevrange(key, 0, MOST - 1)]
