"""Key names: the names and types of all Redis keys, and the functions by which Python builds the names.

Lua scripts build the same names from the prefix of the pool.

Sub-keys of a record or a lane are joined by ``#``, which ids may not contain. So an id that ends in ``:log`` cannot
collide with another task's log.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from itertools import count

from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot

from queueops.model import kinds, subkeys
from queueops.model.kind import Kind

KERNEL_KEYS: dict[str, str] = {
    **dict.fromkeys(("agenda", "blocked", "errors", "idle", "lanes", "lanes:ready"), "zset"),
    **dict.fromkeys(("names", "tags", "trashed", "workers"), "zset"),
    **dict.fromkeys(("alarms", "clock", "counts"), "hash"),
    **dict.fromkeys(("sampler", "seq", "snapshot", "tail"), "string"),
    "names:paused": "hash",
    "paused:<name>": "zset",
    "state:<state>": "zset",
    "lane:<lane>": "zset",
    **subkeys.keys_beside("lane:<lane>", subkeys.LANE),
    **subkeys.keys_beside("limit:<key>", subkeys.LIMIT),
    "limits:<name>": "zset",
    "name:<name>": "zset",
    "kind:<kind>": "zset",
    "tag:<tag>": "zset",
    "error:<fingerprint>": "hash",
    **subkeys.keys_beside("error:<fingerprint>", subkeys.ERROR),
    "metrics:<minute>": "hash",
    "recent:<slot>": "hash",
    "history:<step>:<slot>": "hash",
    "marks:<list>": "zset",
    "worker:<worker>": "hash",
    "wake:<worker>": "list",
    "unable": "string",
    "stack:<worker>": "hash",
    "unable:<worker>": "set",
    "task:<id>": "hash",
    **subkeys.keys_beside("task:<id>", subkeys.RECORD),
    "commands": "zset",
    "commands:dead": "zset",
    "commands_locked": "zset",
    "command:<id>": "hash",
    "follow_ups:dead": "zset",
    "follow_ups:notes": "hash",
    "schedules": "zset",
    "schedules:queued": "set",
    "schedule:<id>": "hash",
    f"schedule:<id>{subkeys.LOG.name}": "list",
    "schedule:<id>#queue": "list",
    "trash:<id>": "hash",
    **subkeys.keys_beside("trash:<id>", tuple(each for each in subkeys.RECORD if each.carried)),
}
"""The keys after the prefix of a pool, but for those of kinds, and the Redis type of each."""

_SUBKEY = re.compile(r"#([a-z][a-z0-9_]*)$")
_PLACEHOLDER = re.compile(r"<(\w+)>")
_OF_KINDS = (name for kind in kinds.KINDS for name in kind.keys)
_PLAIN = {name.replace(":", "_"): name for name in (*KERNEL_KEYS, *_OF_KINDS) if "<" not in name} | {"events": "events"}
"""Keys without a variable part, by attribute; `events` is a channel."""


def types() -> Mapping[str, str]:
    """Every kind of key after the prefix of a pool, and its Redis type. Raises BadKind."""
    return _types(kinds.registered())


@cache
def _types(registered: tuple[Kind, ...]) -> dict[str, str]:
    found = dict(KERNEL_KEYS)
    for kind in registered:
        found |= kind.keys
        found |= {f"{place}:<id>{name}": type_ for place in ("task", "trash") for name, type_ in kind.subkeys.items()}
        found |= {f"task:<id>{name}": type_ for name, type_ in kind.own_subkeys.items()}
    return found


@cache
def _shapes(registered: tuple[Kind, ...]) -> dict[str, re.Pattern[str]]:
    names = sorted(_types(registered), key=lambda name: ("<" in name, -name.count("#"), "<number>" not in name))
    return {
        name: re.compile(_PLACEHOLDER.sub(lambda found: r"\d+" if found[1] == "number" else "[^#]+", re.escape(name)))
        for name in names
    }


def subkey_names() -> tuple[str, ...]:
    """The names of all sub-keys, without their ``#``: those of the kernel, and of registered kinds. Raises BadKind."""
    found = (_SUBKEY.search(name) for name in (*types(), *(each.name for each in subkeys.ALL)))
    return tuple(sorted({each[1] for each in found if each}))


def kind_of(name: str) -> str | None:
    """The kind of a key, by its name after the pool's prefix. None for a name that QueueOps does not use."""
    return next((kind for kind, shape in _shapes(kinds.registered()).items() if shape.fullmatch(name)), None)


@cache
def pools(namespace: str, copies: int = 1) -> tuple[str, ...]:
    """The set of all pools of a namespace, and its copies, spread over the slots and so over several servers.

    A namespace's name cannot contain a #.
    """
    found = [f"{{{namespace}}}:pools"]
    names = (f"{{{namespace}#{number}}}:pools" for number in count(1))
    while len(found) < copies:
        part = (_part(found[0], copies) + len(found)) % copies
        found.append(next(name for name in names if _part(name, copies) == part))
    return tuple(found)


def libraries(namespace: str, copies: int = 1) -> tuple[str, ...]:
    """The Lua libraries of a namespace by their last use, and the copies of that set: each beside a set of pools."""
    return tuple(f"{key.removesuffix('pools')}libraries" for key in pools(namespace, copies))


def alerts(namespace: str, part: str) -> str:
    """The state of alerts, which belongs to no pool: `turn`, `incidents`, `silences`, `targets` or `history`."""
    return f"{{{namespace}}}:alerts:{part}"


def flushed(namespace: str, pool: str) -> str:
    """The mark of a flushed pool. It is outside the pool's keys, because a flush deletes all of them."""
    return f"{{{namespace}}}:flushed:{pool}"


def _part(key: str, parts: int) -> int:
    """The part of the slot range that holds a key."""
    return int(key_slot(key.encode())) * parts // REDIS_CLUSTER_HASH_SLOTS


class Keys:
    """The keys of one pool; all share one hash tag, so that a pool is one cluster slot."""

    __slots__ = ("namespace", "pool", "prefix")

    def __init__(self, namespace: str, pool: str) -> None:
        """Bind the namespace and the pool."""
        self.namespace, self.pool = namespace, pool
        self.prefix = f"{{{namespace}:{pool}}}"

    def __getattr__(self, name: str) -> str:
        """A key without a variable part: agenda, lanes, workers, idle, names, tags, errors, counts, clock, seq, ..."""
        if name not in _PLAIN:
            raise AttributeError(name)
        return f"{self.prefix}:{_PLAIN[name]}"

    def task(self, task_id: str) -> str:
        """The record."""
        return f"{self.prefix}:task:{task_id}"

    def log(self, task_id: str) -> str:
        """The log and the attempts of a task."""
        return f"{self.prefix}:task:{task_id}{subkeys.LOG.name}"

    def last(self, task_id: str) -> str:
        """The previous generation, kept for a minute for callers that waited for its end."""
        return f"{self.prefix}:task:{task_id}{subkeys.LAST.name}"

    def done(self, task_id: str) -> str:
        """The channel on which callers that wait for a task receive its end."""
        return f"{self.prefix}:task:{task_id}{subkeys.DONE.name}"

    def trash(self, task_id: str) -> str:
        """A deleted record, kept for a while."""
        return f"{self.prefix}:trash:{task_id}"

    def state(self, state: str) -> str:
        """The index of a state."""
        return f"{self.prefix}:state:{state}"

    def lane(self, lane: str) -> str:
        """The ready tasks of a lane, in claim order."""
        return f"{self.prefix}:lane:{lane}"

    def lane_conf(self, lane: str) -> str:
        """A lane's limit, rate, weight and pause."""
        return f"{self.prefix}:lane:{lane}{subkeys.CONF.name}"

    def lane_active(self, lane: str) -> str:
        """The tasks that hold the slots of a lane with a limit."""
        return f"{self.prefix}:lane:{lane}{subkeys.ACTIVE.name}"

    def held(self, name: str) -> str:
        """The ready tasks of a paused name that are held back, score = place in their lane."""
        return f"{self.prefix}:paused:{name}"

    def limit(self, name: str, key: str, subkey: str) -> str:
        """What a task's key has: `#turn`, `#active`, `#waiting` or `#tat`."""
        return f"{self.prefix}:limit:{name} {key}{subkey}"

    def limits(self, name: str) -> str:
        """The keys of a task for which others wait, score = how many."""
        return f"{self.prefix}:limits:{name}"

    def name(self, name: str) -> str:
        """The tasks of one name, score = generation."""
        return f"{self.prefix}:name:{name}"

    def tag(self, tag: str) -> str:
        """The tasks of one tag, score = generation."""
        return f"{self.prefix}:tag:{tag}"

    def error(self, fingerprint: str) -> str:
        """One kind of error."""
        return f"{self.prefix}:error:{fingerprint}"

    def metrics(self, minute: int) -> str:
        """The counters of one minute since the epoch."""
        return f"{self.prefix}:metrics:{minute}"

    def recent(self, slot: int) -> str:
        """What names had counted when a slot of ten seconds began."""
        return f"{self.prefix}:recent:{slot}"

    def history(self, step: str, slot: int) -> str:
        """The rows of one step of the history; ``step`` is the word of its level."""
        return f"{self.prefix}:history:{step}:{slot}"

    def marks(self, which: str) -> str:
        """Moments of the history, score = ms: `alarms` or `starts`."""
        return f"{self.prefix}:marks:{which}"

    def command(self, command: str) -> str:
        """A command to another pool."""
        return f"{self.prefix}:command:{command}"

    def worker(self, worker: str) -> str:
        """A worker's latest heartbeat."""
        return f"{self.prefix}:worker:{worker}"

    def stack(self, worker: str) -> str:
        """The stacks of a worker's threads, or a request for them."""
        return f"{self.prefix}:stack:{worker}"

    def wake(self, worker: str) -> str:
        """A worker's wake-up tokens."""
        return f"{self.prefix}:wake:{worker}"
