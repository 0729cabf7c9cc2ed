"""Store of composites: creates a tree of tasks atomically, and reads its parts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NoReturn

import redis
from redis.exceptions import ResponseError

from queueops import conf
from queueops.errors import StaleLease
from queueops.errors.composites import CompositePushExpired, PartInUse
from queueops.kinds.composites.split_by_pool import Entry, Stage, entries_of, is_mixed, pools_of, stages_of
from queueops.kinds.composites.tree_wire import entry_arguments
from queueops.model import endings, observers
from queueops.model.contracts import Lease, LeaseRef, Node, Push, Pushed
from queueops.model.part_refs import PartRef
from queueops.redis.broker.push import PushCalls
from queueops.redis.broker.storage import StorageCalls
from queueops.redis.durability import confirmed
from queueops.redis.pushwire import Argument
from queueops.redis.query_replies import text
from queueops.redis.store_client import BATCH

Write = Callable[[Sequence[Entry]], Sequence[bytes]]
"""Writes some entries, and returns the generation of each."""
FENCED = ("whole", "begin", "start")
"""Steps that are refused without the lease of the pushing task. No task of a tree starts before one of these steps."""
MOST_PARTS = 10_000
"""Maximum number of parts of a composite."""
NODES = 200
"""Nodes in one call: each takes the store about 20 us, during which it serves no other client."""


class CompositeCalls(PushCalls, StorageCalls):
    """The composite role of the broker."""

    def plant(self, nodes: Sequence[Node], *, durable: bool = False, under: LeaseRef | None = None) -> Pushed:
        """Create the tree of a composite, given from the root down, and start it. One call if it is small.

        Raises BrokerUnavailable, StoreFull, DurabilityUnsupported, NotDurable, PartInUse, LeaseLost, and
        CompositePushExpired; then everything written is erased.
        """
        if durable:
            with confirmed(self, pools_of(nodes)):
                return self.plant(nodes, under=under)
        for pool in pools_of(nodes):
            self.announce(pool)
            self.lane_patterns.prepare_for(pool, (node.push for node in nodes if node.push.pool == pool))
        with observers.publishing(node.push for node in nodes):
            planter = _Planter(self, nodes, under)
            answer = planter.plant()
        if planter.is_alone:
            self.bring(nodes[0].push.pool)
        return answer

    def emit(self, lease: Lease, nodes: Sequence[Node], answer: str, state: bytes) -> None:
        """Write what a running iterator or template returned; the first node is the task itself.

        It starts at its settlement.

        Raises StaleLease and PartInUse.
        """
        with observers.publishing((node.push for node in nodes[1:]), linked=answer != "tree"):
            self._emit(lease, nodes, answer, state)

    def _emit(self, lease: Lease, nodes: Sequence[Node], answer: str, state: bytes) -> None:
        token = os.urandom(6).hex()
        if answer != "tree" and (ring := conf.keyring()) is not None:
            state = ring.seal(state)
        for pool in pools_of(nodes):
            self.lane_patterns.prepare_for(pool, (node.push for node in nodes if node.push.pool == pool))

        def write(entries: Sequence[Entry], last: bool = False) -> Sequence[bytes]:
            said = (lease.id, lease.fence, token, answer if last else "", self.rules, state)
            arguments = entry_arguments(entries)
            while (reply := self._call("emit", lease.pool, *said, *arguments))[0] == b"MORE":
                pass
            if reply[0] == b"TAKEN":
                self._refuse(lease.pool, reply[1].decode())
            if reply[0] != b"OK":
                raise StaleLease(id=lease.id, fence=lease.fence)
            uids: Sequence[bytes] = reply[2]
            return uids

        if len(nodes) and is_mixed(nodes):
            self._emit_far(lease, nodes, token, write, iterator=answer != "tree")
            write((), True)
            return
        rest = entries_of(nodes)[1:]
        for start in range(0, max(1, len(rest)), NODES):
            write(rest[start : start + NODES], start + NODES >= len(rest))

    def grow(self, under: LeaseRef, nodes: Sequence[Node], token: str) -> tuple[str, str]:
        """Add the parts below the first node to the group of a running task. Returns a word and a detail.

        The words are OK, NONE, FAR, ENDED, LATER and FULL. Raises LeaseLost and PartInUse.
        """
        pool = under.pool
        self.lane_patterns.prepare_for(pool, (node.push for node in nodes))
        said = (under.id, under.fence, token, nodes[0].push.id, self.rules)
        with observers.publishing(node.push for node in nodes[1:]):
            arguments = entry_arguments(entries_of(nodes)[1:])
            reply = self._fenced(pool, under, lambda _: self._call("grow", pool, *said, *arguments))
        word, detail, alone, ended = reply
        if word == b"TAKEN":
            self._refuse(pool, detail.decode())
        endings.tell(endings.read(pool, ended))
        if alone == b"1":
            self.bring(pool)
        return word.decode(), detail.decode()

    def _emit_far(self, lease: Lease, nodes: Sequence[Node], token: str, write: Write, *, iterator: bool) -> None:
        for pool in pools_of(nodes):
            self.announce(pool)
        first, *others = stages_of(nodes, iterator=iterator, round=lease.own.get("round", 0))
        uids = {lease.id: lease.uid} | _written(write, first.entries[1:])
        for stage in others:
            uids |= self._write_stage(lease.id, stage, token, uids)

    def _write_stage(self, root: str, stage: Stage, token: str, uids: dict[str, int]) -> dict[str, int]:
        """Write a part of a tree whose root is in another pool; return the generations of the written tasks."""
        for push, parent in stage.parents:
            push.parent_uid = uids[parent.id]

        def write(entries: Sequence[Entry]) -> Sequence[bytes]:
            arguments = entry_arguments(entries)
            said = (root, token, "part", "", self.rules, "", "")
            word, _, in_use, found, *_ = self._call("plant", stage.pool, *said, *arguments)
            if word == b"TAKEN":
                self._refuse(stage.pool, in_use.decode())
            uids: Sequence[bytes] = found
            return uids

        return _written(write, stage.entries)

    def _refuse(self, pool: str, in_use: str) -> NoReturn:
        ids = in_use.split(" ")
        record = self.record(pool, ids[0])
        raise PartInUse(id=ids[0], state=record.state if record else "gone", pool=pool, ids=ids)

    def parts(self, pool: str, task_id: str, *, last: bool = False) -> list[PartRef]:
        """The parts of a chain or a group in order, or only the last one. Raises BrokenPool."""
        key = f"{self.keys(pool).task(task_id)}#children"
        found: list[tuple[str, str, int]] = []
        try:
            for start in [-1] if last else range(0, MOST_PARTS, BATCH):
                end = start if last else start + BATCH - 1
                page = self.ask(pool, partial(_scored, key, start, end))
                found += [(*_reference(member, pool), int(order)) for member, order in page]
                if len(page) < BATCH:
                    break
            return [part for i in range(0, len(found), BATCH) for part in self._named(found[i : i + BATCH])]
        except ResponseError as error:
            raise self.explained(pool, error) from error

    def _named(self, references: Sequence[tuple[str, str, int]]) -> list[PartRef]:
        by_pool: dict[str, list[str]] = {}
        for task_id, pool, _ in references:
            by_pool.setdefault(pool, []).append(task_id)
        found = {(pool, id): row for pool, ids in by_pool.items() for id, row in self._names_of(pool, ids)}
        return [
            PartRef(order, pool, task_id, text(kind) or "task", text(name), text(on_failure))
            for task_id, pool, order in references
            for kind, name, on_failure in (found[pool, task_id],)
        ]

    def _names_of(self, pool: str, ids: Sequence[str]) -> Iterator[tuple[str, list[bytes | None]]]:
        """The kind, the name and the policy of each task, in one round trip."""

        def read(client: redis.Redis) -> list[list[bytes | None]]:
            with client.pipeline(transaction=False) as pipe:
                for task_id in ids:
                    pipe.hmget(self.keys(pool).task(task_id), "k", "n", "of")
                return list(pipe.execute())

        return zip(ids, self.ask(pool, read), strict=True)


class _Planter:
    """One push of a composite."""

    def __init__(self, broker: CompositeCalls, nodes: Sequence[Node], under: LeaseRef | None) -> None:
        self.broker = broker
        self.under = under
        self.nodes = nodes
        self.root: Push = nodes[0].push
        self.token = self.root.token or os.urandom(6).hex()
        self._alive = 0.0
        self.is_alone = False

    def plant(self) -> Pushed:
        if not is_mixed(self.nodes):
            entries = entries_of(self.nodes)
            return self._plant_whole(entries) if len(entries) <= NODES else self._plant_stages([Stage("", 0, entries)])
        return self._plant_stages(stages_of(self.nodes))

    def _plant_whole(self, entries: Sequence[Entry]) -> Pushed:
        return self._step("whole", entries)[0]

    def _plant_stages(self, stages: Sequence[Stage]) -> Pushed:
        first, *others = stages
        answer, found = self._step("begin", first.entries[:NODES])
        if answer.word != "OK":
            return answer
        try:
            uids = _paired(first.entries, found) | _written(self._more, first.entries[NODES:])
            for stage in others:
                uids |= self.broker._write_stage(self.root.id, stage, self.token, uids)
                self._stay_alive()
            self._step("start", ())
        except BaseException:
            self._step("uproot", ())
            raise
        return answer

    def _more(self, entries: Sequence[Entry]) -> Sequence[bytes]:
        return self._step("more", entries)[1]

    def _stay_alive(self) -> None:
        """Renew the root's unfinished tree, so that it is not erased while other pools are written."""
        if time.monotonic() - self._alive > self.broker.settings.lease / 4:
            self._step("more", ())

    def _step(self, step: str, entries: Sequence[Entry]) -> tuple[Pushed, Sequence[bytes]]:
        root = self.root
        self._alive = time.monotonic()
        said = (root.id, self.token, step, root.conflict, self.broker.rules)
        reply = self._call(step, said, entry_arguments(entries))
        word, uid, in_use = reply[0].decode(), int(reply[1]), reply[2].decode()
        if word == "TAKEN":
            self.broker._refuse(root.pool, in_use)
        if word == "GONE" and step != "uproot":
            raise CompositePushExpired(id=root.id, count=len(self.nodes))
        self.is_alone = reply[4] == b"1"
        endings.tell(endings.read(root.pool, reply[5] if len(reply) > 5 else ()))
        return Pushed(root.id, uid, word), reply[3]

    def _call(self, step: str, said: Sequence[Argument], entries: Sequence[Argument]) -> Any:
        def call(proof: Sequence[Argument]) -> Any:
            return self.broker._call("plant", self.root.pool, *said, *proof, *entries)

        if self.under is None or step not in FENCED:
            return call(("", ""))
        return self.broker._fenced(self.root.pool, self.under, call)


def _written(write: Write, entries: Sequence[Entry]) -> dict[str, int]:
    uids: dict[str, int] = {}
    for start in range(0, len(entries), NODES):
        batch = entries[start : start + NODES]
        uids |= _paired(batch, write(batch))
    return uids


def _paired(entries: Sequence[Entry], uids: Sequence[bytes]) -> dict[str, int]:
    return {entry.id: int(uid) for entry, uid in zip(entries, uids, strict=False) if entry.push is not None}


def _reference(member: bytes, pool: str) -> tuple[str, str]:
    """The id and the pool of a part; a part in another pool than its parent's names the pool."""
    task_id, _, other = text(member).partition("#")
    return task_id, other or pool


def _scored(key: str, first: int, last: int, client: redis.Redis) -> Any:
    """Members of an index with their scores, by rank."""
    return client.zrange(key, first, last, withscores=True)
