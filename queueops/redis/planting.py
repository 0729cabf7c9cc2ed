"""Creating composites: a tree of tasks, all of it or nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NoReturn

from queueops.composite_errors import PartInUse, PlantingLost
from queueops.contracts import Lease, Node, Pushed
from queueops.errors import StaleLease
from queueops.redis import pushwire
from queueops.redis.link import BATCH
from queueops.redis.producing import Producing
from queueops.redis.storing import Storing


class Planting(Producing, Storing):
    """What creates composites."""

    def plant(self, nodes: Sequence[Node], *, durable: bool = False) -> Pushed:
        """Create the tree of a composite, given from the root down, and start it. In one call if it is small.

        Raises BrokerUnavailable, StoreFull, NotDurable, PartInUse, and PlantingLost; then all that was
        written is erased.
        """
        root = nodes[0].push
        token = root.token or os.urandom(6).hex()
        self.announce(root.pool)
        small = len(nodes) <= BATCH
        answer = self._plant(nodes, "whole", token, nodes) if small else self._plant_batches(nodes, token)
        if durable:
            self._confirm(root.pool)
        return answer

    def emit(self, lease: Lease, nodes: Sequence[Node], answer: str, state: bytes) -> None:
        """Write what a running iterator or template answered, the first node being itself. It begins when it settles.

        Raises StaleLease and PartInUse.
        """
        token = os.urandom(6).hex()
        rest = nodes[1:]
        for start in range(0, max(1, len(rest)), BATCH):
            batch = rest[start : start + BATCH]
            last = start + BATCH >= len(rest)
            said = (lease.id, lease.fence, token, answer if last else "", self.rules, state)
            arguments = pushwire.node_arguments(batch, nodes)
            while (reply := self._call("emit", lease.pool, *said, *arguments))[0] == b"MORE":
                pass
            word, in_use = reply
            if word == b"TAKEN":
                self._refuse(lease.pool, in_use.decode())
            if word != b"OK":
                raise StaleLease(id=lease.id, fence=lease.fence)

    def _refuse(self, pool: str, in_use: str) -> NoReturn:
        record = self.record(pool, in_use)
        raise PartInUse(id=in_use, state=record.state if record else "gone")

    def _plant_batches(self, nodes: Sequence[Node], token: str) -> Pushed:
        answer = self._plant(nodes, "begin", token, nodes[:BATCH])
        if answer.word != "OK":
            return answer
        try:
            for start in range(BATCH, len(nodes), BATCH):
                self._plant(nodes, "more", token, nodes[start : start + BATCH])
            self._plant(nodes, "start", token, ())
        except BaseException:
            self._plant(nodes, "uproot", token, ())
            raise
        return answer

    def _plant(self, nodes: Sequence[Node], step: str, token: str, batch: Sequence[Node]) -> Pushed:
        root = nodes[0].push
        arguments = pushwire.node_arguments(batch, nodes)
        reply = self._call("plant", root.pool, root.id, token, step, root.conflict, self.rules, *arguments)
        word, uid, in_use = reply[0].decode(), int(reply[1]), reply[2].decode()
        if word == "TAKEN":
            self._refuse(root.pool, in_use)
        if word == "GONE" and step != "uproot":
            raise PlantingLost(id=root.id, count=len(nodes))
        return Pushed(root.id, uid, word)
