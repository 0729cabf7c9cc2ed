"""Key names: the names and types of all Redis keys, and the functions by which Python builds the names.

Lua scripts build the same names from the prefix of the pool.

Sub-keys of a record or a lane are joined by ``#``, which ids may not contain. So an id that ends in ``:log`` cannot
collide with another task's log.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import count

from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot

KINDS: dict[str, str] = {
    **dict.fromkeys(("agenda", "commands", "commands:dead", "commands_locked"), "zset"),
    **dict.fromkeys(("blocked", "errors", "idle", "lanes", "lanes:ready", "names", "schedules"), "zset"),
    **dict.fromkeys(("tags", "trashed", "workers"), "zset"),
    **dict.fromkeys(("alarms", "clock", "counts", "instances"), "hash"),
    **dict.fromkeys(("sampler", "seq", "snapshot", "tail"), "string"),
    "schedules:queued": "set",
    "state:<state>": "zset",
    "lane:<lane>": "zset",
    "lane:<lane>#conf": "hash",
    "lane:<lane>#active": "set",
    "name:<name>": "zset",
    "kind:<kind>": "zset",
    "tag:<tag>": "zset",
    "error:<fingerprint>": "hash",
    "error:<fingerprint>#tasks": "zset",
    "metrics:<minute>": "hash",
    "history:<step>:<slot>": "hash",
    "marks:<list>": "zset",
    "worker:<worker>": "hash",
    "wake:<worker>": "list",
    "stack:<worker>": "hash",
    "unable:<worker>": "set",
    "command:<id>": "hash",
    "api:<token>": "string",
    "schedule:<id>": "hash",
    "schedule:<id>#log": "list",
    "schedule:<id>#queue": "list",
    **{
        f"{place}:<id>{part}": kind
        for place in ("task", "trash")
        for part, kind in {
            "": "hash",
            "#log": "list",
            **dict.fromkeys(("#children", "#planted", "#drafts", "#told"), "zset"),
            **dict.fromkeys(("#open", "#asked"), "set"),
            **dict.fromkeys(("#results", "#far", "#calls", "#stopped"), "hash"),
            **dict.fromkeys(("#latest", "#failures", "#history", "#inbox"), "list"),
        }.items()
    },
    "task:<id>#next": "hash",
    "task:<id>#last": "hash",
    **{
        f"task:<id>#chunks:{part}": kind
        for part, kind in {
            **dict.fromkeys(("pending", "active", "errored", "done", "failed", "stages"), "zset"),
            **dict.fromkeys(("twins", "unable"), "set"),
            **dict.fromkeys(("by", "edits"), "hash"),
        }.items()
    },
    "task:<id>#<number>": "hash",
    "task:<id>#<number>~": "hash",
    "task:<id>#<number>#log": "list",
}
"""Every kind of key after the prefix of a pool, and its Redis type."""

_PLACEHOLDER = re.compile(r"<(\w+)>")
_SHAPES = {
    kind: re.compile(_PLACEHOLDER.sub(lambda found: r"\d+" if found[1] == "number" else "[^#]+", re.escape(kind)))
    for kind in sorted(KINDS, key=lambda kind: ("<" in kind, -kind.count("#"), "<number>" not in kind))
}
_PLAIN = {kind.replace(":", "_"): kind for kind in KINDS if "<" not in kind} | {"events": "events"}
"""Keys without a variable part, by attribute; `events` is a channel."""


def kind_of(name: str) -> str | None:
    """The kind of a key, by its name after the pool's prefix. None for a name that QueueOps does not use."""
    return next((kind for kind, shape in _SHAPES.items() if shape.fullmatch(name)), None)


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


def flushed(namespace: str, pool: str) -> str:
    """The mark of a flushed pool. It is outside the pool's keys, because a flush deletes all of them."""
    return f"{{{namespace}}}:flushed:{pool}"


def maintenance_key(namespace: str) -> str:
    """The maintenance switch of a namespace. It is outside the keys of pools, because a flush of a pool leaves it."""
    return f"{{{namespace}}}:maintenance"


def full_disks_key(namespace: str) -> str:
    """The machines of a namespace whose storage has no space. It belongs to no pool."""
    return f"{{{namespace}}}:full_disks"


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
        return f"{self.prefix}:task:{task_id}#log"

    def last(self, task_id: str) -> str:
        """The previous generation, kept for a minute for callers that waited for its end."""
        return f"{self.prefix}:task:{task_id}#last"

    def done(self, task_id: str) -> str:
        """The channel on which callers that wait for a task receive its end."""
        return f"{self.prefix}:task:{task_id}#done"

    def chunks(self, task_id: str, state: str) -> str:
        """The chunks of a map-reduce task in one state."""
        return f"{self.prefix}:task:{task_id}#chunks:{state}"

    def chunk(self, task_id: str, number: int) -> str:
        """The record of one chunk."""
        return f"{self.prefix}:task:{task_id}#{number}"

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
        return f"{self.prefix}:lane:{lane}#conf"

    def lane_active(self, lane: str) -> str:
        """The tasks that hold the slots of a lane with a limit."""
        return f"{self.prefix}:lane:{lane}#active"

    def name(self, name: str) -> str:
        """The tasks of one name, score = generation."""
        return f"{self.prefix}:name:{name}"

    def tag(self, tag: str) -> str:
        """The tasks of one tag, score = generation."""
        return f"{self.prefix}:tag:{tag}"

    def error(self, fingerprint: str) -> str:
        """One kind of error."""
        return f"{self.prefix}:error:{fingerprint}"

    def error_tasks(self, fingerprint: str) -> str:
        """The failed tasks of one kind of error."""
        return f"{self.prefix}:error:{fingerprint}#tasks"

    def metrics(self, minute: int) -> str:
        """The counters of one minute since the epoch."""
        return f"{self.prefix}:metrics:{minute}"

    def history(self, step: str, slot: int) -> str:
        """The rows of one step of the history; ``step`` is the word of its level."""
        return f"{self.prefix}:history:{step}:{slot}"

    def marks(self, which: str) -> str:
        """Moments of the history, score = ms: `alarms` or `starts`."""
        return f"{self.prefix}:marks:{which}"

    def schedule(self, schedule: str) -> str:
        """One schedule."""
        return f"{self.prefix}:schedule:{schedule}"

    def schedule_log(self, schedule: str) -> str:
        """The log of a schedule: its last 100 lines."""
        return f"{self.prefix}:schedule:{schedule}#log"

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
