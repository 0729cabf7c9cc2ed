"""One pool with an example of every kind of key, and what can be written there in its place.

A kind of key that is new in ``queueops.redis.keys.types`` has no example here: the tests that feed garbage fail then.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from queueops.kinds.workflows.store import WorkflowCalls
from queueops.model.contracts import Conflict, Node, Outcome, Push
from queueops.model.history import LEVELS
from queueops.redis import keys
from queueops.redis.broker import RedisBroker, get_broker, get_role
from queueops.schedules.definition import ScheduleDefinition
from tests.composites.trees import Tree, chain_of, group_of, nodes_of
from tests.kernel.desk import NEVER_MS, make
from tests.mapreduce.bench import ChunkDesk

SICK, WELL = "sick", "well"
NAME = "tests.noop"
NEIGHBOURS = ("a", "b")
"""Ready tasks of the default lane, which are to run whatever stands in the keys of others."""

RUN_PARTS = ("history", "inbox", "calls", "later", "payloads", "told")

TYPES = keys.types()
EXAMPLES: dict[str, str] = {
    **{kind: kind for kind in TYPES if "<" not in kind},
    "state:<state>": "state:pending",
    "lane:<lane>": "lane:narrow",
    "lane:<lane>#conf": "lane:narrow#conf",
    "lane:<lane>#active": "lane:narrow#active",
    "lane:<lane>#jobs": "lane:narrow#jobs",
    **{kind: kind.replace("<key>", f"{NAME} one") for kind in TYPES if kind.startswith("limit:<key>#")},
    "limits:<name>": f"limits:{NAME}",
    "name:<name>": f"name:{NAME}",
    "paused:<name>": "paused:tests.paused",
    "kind:<kind>": "kind:mapreduce",
    "tag:<tag>": "tag:red",
    "error:<fingerprint>": "error:f1",
    "error:<fingerprint>#tasks": "error:f1#tasks",
    "metrics:<minute>": "metrics:{minute}",
    "recent:<slot>": "recent:{recent}",
    "history:<step>:<slot>": "history:1m:{minute}",
    "marks:<list>": "marks:alarms",
    "stack:<worker>": "stack:w1",
    "worker:<worker>": "worker:w1",
    "wake:<worker>": "wake:w1",
    "unable:<worker>": "unable:w1",
    "command:<id>": "command:x",
    "api:<token>": "api:1",
    "counted:<process>": "counted:1",
    "schedule:<id>": "schedule:hourly",
    "schedule:<id>#log": "schedule:hourly#log",
    "schedule:<id>#queue": "schedule:hourly#queue",
    "task:<id>": "task:n",
    "task:<id>#log": "task:l#log",
    "task:<id>#next": "task:l#next",
    "task:<id>#last": "task:again#last",
    "task:<id>#children": "task:g#children",
    "task:<id>#open": "task:g#open",
    "task:<id>#results": "task:g#results",
    "task:<id>#far": "task:g#far",
    "task:<id>#asked": "task:g#asked",
    **{f"task:<id>#{part}": f"task:i#{part}" for part in ("planted", "drafts", "latest", "failures")},
    **{f"task:<id>#{part}": f"task:r#{part}" for part in RUN_PARTS},
    "trash:<id>": "trash:t",
    **{f"trash:<id>#{part}": f"trash:t#{part}" for part in RUN_PARTS},
    **{f"trash:<id>#{part}": f"trash:t#{part}" for part in ("log", "children", "open", "results", "far", "asked")},
    **{f"trash:<id>#{part}": f"trash:t#{part}" for part in ("planted", "drafts", "latest", "failures")},
    **{kind: kind.replace("<id>", "m") for kind in TYPES if kind.startswith("task:<id>#chunks:")},
    "task:<id>#<number>": "task:m#0",
    "task:<id>#<number>~": "task:m#0~",
    "task:<id>#<number>#log": "task:m#1#log",
}
"""Of every kind of key one name, behind the pool's prefix."""

ODD = b"\xff\xfe#~:'{}"
VALUES: dict[str, Callable[[Any, str], object]] = {
    "string": lambda client, key: client.set(key, ODD),
    "list": lambda client, key: client.rpush(key, ODD, b""),
    "hash": lambda client, key: client.hset(key, mapping={ODD: ODD, b"": b""}),
    "set": lambda client, key: client.sadd(key, ODD, b""),
    "zset": lambda client, key: client.zadd(key, {ODD: 1, b"": float("-inf"), b"~": float("inf"), b"~x:y": 0}),
    "stream": lambda client, key: client.xadd(key, {ODD: ODD}),
}
"""Every type of key of the store, with garbage in it."""

FILL: dict[str, Callable[[Any, str], object]] = {
    "string": lambda client, key: client.set(key, "1"),
    "list": lambda client, key: client.rpush(key, "fa"),
    "hash": lambda client, key: client.hset(key, "0", "1"),
    "set": lambda client, key: client.sadd(key, "a1"),
    "zset": lambda client, key: client.zadd(key, {"a1": 1}),
}


class Specimens(ChunkDesk):
    """The pool with something of everything. Its neighbours may be found in no other key than their own."""

    def __init__(self, broker: RedisBroker) -> None:
        super().__init__(broker)
        self.pool, self.keys = SICK, broker.keys(SICK)

    def check(self) -> Any:
        """Nothing: what is there is garbage."""

    def arrange(self) -> None:
        """Make the examples."""
        broker = self.broker
        broker.push([Push(id="w", name=NAME, pool=WELL)])
        broker.lane(SICK, "narrow", limit=3)
        self._paused()
        self._tasks()
        self._composites()
        self._chunks()
        self._runs()
        self.push(*NEIGHBOURS)
        self.push("n", lane="narrow", tags=("red",))
        broker.beat(SICK, "w1", {"names": NAME, "slots": 1, "pools": SICK, "running": b"[]"})
        made = ScheduleDefinition(id="hourly", push=Push(id="", name=NAME, pool=SICK), line="0 * * * *", zone="UTC")
        broker.put_schedule(SICK, made, self.now() + NEVER_MS)
        command = {"v": "ended", "to": WELL, "i": "w", "me": "g", "vn": 1, "u": 1, "rn": 0, "n": 0, "t": self.now()}
        self.client.hset(self.name("command:<id>"), mapping=command)
        self.client.zadd(self.name("commands"), {"x": 1})
        self.client.zadd(self.keys.agenda, {"~commands:": 1})
        for pool in (SICK, WELL):  # or each round of a watchdog would read an hour of the two days before the examples
            marks = {level.mark: level.slot(self.now()) - 1 for level in LEVELS}
            self.client.hset(broker.keys(pool).clock, mapping=marks)
        for kind in TYPES:
            if not self.client.exists(self.name(kind)):
                FILL[TYPES[kind]](self.client, self.name(kind))

    def _paused(self) -> None:
        """A task of a paused name, which a claim has met."""
        self.broker.pause_name(SICK, "tests.paused", paused=True)
        self.push("h", name="tests.paused")
        assert self.claim(1) == []

    def _tasks(self) -> None:
        self.push("s", "f", "again", "t")
        done, failed, again, thrown = self.claim(4)
        for lease in (done, again, thrown):
            self.settle(lease)
        self.settle(failed, Outcome.ERROR, b"{}", delay_ms=-1, fingerprint="f1", title="ValueError: bad")
        self.told("delete", "t")
        self.push("q", "q2", own=(("lk", "one"), ("lm", 1), ("lr", "0.001")))
        assert self.lease().id == "q"
        self.push("l", lane="narrow", retries=5, tags=("red",))
        held = self.lease()
        self.broker.note(SICK, "l", held.fence, line=b"a line")
        self.push("l", conflict=Conflict.RUN_AFTER)
        self.push("p", delay_ms=NEVER_MS)

    def _composites(self) -> None:
        plant_in(self, group_of("g", "g1", "g2"))
        plant_in(self, chain_of("c", "c1", "c2"))
        for lease in self.claim(2):
            if lease.id == "g1":
                self.settle(lease, value=b"1")
        self.push("i", kind="iterator", own=(("wi", 2),))
        (lease,) = [each for each in self.claim(3) if each.id == "i"]
        root = Node(make("i", kind="iterator", pool=SICK))
        self.broker.emit(lease, [root, *(Node(make(f"i{n}", pool=SICK), 0, n) for n in range(5))], "next", b"1")
        self.settle(lease)

    def _runs(self) -> None:
        """A run that waits for an activity and a timer, with an event that no step has taken."""
        self.push("r", name="tests.run", kind="workflow", own=(("vi", "r-1"),))
        (lease,) = [each for each in self.claim(20) if each.id == "r"]
        call = {"number": "1", "id": "r.1", "due": "", "fields": ["n", NAME, "k", "activity"]}
        step = {"taken": 0, "mark": '{"e":"step","at":1}', "commands": ['{"e":"call","c":1}', '{"e":"timer","c":2}']}
        rest = {"calls": [call], "timers": [["2", str(self.now() + NEVER_MS)]], "drops": [], "tells": []}
        self.settle(lease, value=json.dumps({**step, **rest, "where": "", "notes": []}).encode())
        get_role(WorkflowCalls).tell_run(SICK, "signal", b'{"e":"signal","n":"go"}', run="r")

        self.push("rb", name="tests.run", kind="workflow", own=(("vi", "r-2"),))
        (lease,) = [each for each in self.claim(20) if each.id == "rb"]
        self.settle(lease, value=b'{"blocked":"its code has changed"}')

    def _chunks(self) -> None:
        self.push("m", name="tests.count", kind="mapreduce", own=(("xr", 2), ("xw", 50)))
        (lease,) = [each for each in self.claim(20) if each.id == "m"]
        self.broker.make_room(SICK, "m", lease.fence)
        self.broker.split(SICK, "m", lease.fence, 0, [b"%d" % number for number in range(6)])
        self.settle(lease, value=b"6")
        chunks = [each for each in self.claim(5) if each.id.startswith("m#")]
        self.settle(chunks[1], Outcome.ERROR, b"{}", delay_ms=NEVER_MS, fingerprint="f1", title="E")
        self.settle(chunks[2], value=b"1")
        self.settle(chunks[3], Outcome.ERROR, b"{}", delay_ms=-1, fingerprint="f1", title="E")
        self.broker.mend_chunks(SICK, "m", "speculate", [0])

    def name(self, kind: str) -> str:
        """The whole name of the example of a kind."""
        name = EXAMPLES[kind]
        if "{" in name:
            name = name.format(minute=self.now() // 60_000, recent=self.now() // 10_000 - 1)
        return f"{self.keys.prefix}:{name}"

    def spoil(self, kind: str, value: str) -> str:
        """Garbage in the place of an example; its key."""
        key = self.name(kind)
        self.client.delete(key)
        VALUES[value](self.client, key)
        return key


@contextmanager
def specimens() -> Iterator[Specimens]:
    """A pool with an example of every kind of key, beside one that is well; the store is empty at the end."""
    desk = Specimens(get_broker())
    try:
        desk.arrange()
        yield desk
    finally:
        desk.client.flushall()


def plant_in(desk: Specimens, tree: Tree) -> None:
    """Push a tree to the pool of the desk."""
    nodes = nodes_of(tree)
    for node in nodes:
        node.push.pool = desk.pool
    desk.broker.plant(nodes)


class Shelf:
    """The whole store, as it was when the examples were made; put back in one call for each case."""

    def __init__(self, client: Any) -> None:
        self._client = client
        keys = list(client.scan_iter(count=10_000))
        with client.pipeline() as pipe:
            for key in keys:
                pipe.pttl(key).dump(key)
            found = pipe.execute()
        self._rows = list(zip(keys, found[::2], found[1::2], strict=True))

    def put_back(self) -> None:
        """Everything as it was."""
        with self._client.pipeline() as pipe:
            pipe.flushdb()
            for key, left, value in self._rows:
                pipe.restore(key, max(0, left), value)
            pipe.execute()
