"""Store of operations: performs them part by part, pauses them, and reads them."""

from __future__ import annotations

from collections.abc import Sequence

from queueops.errors import BadReply
from queueops.kinds.operations.order import Order, Step
from queueops.model import endings, states
from queueops.redis.broker.control import TRASH_MS
from queueops.redis.store_client import StoreClient

PART = 100
"""Tasks that one call looks at. It acts on 30 at most, about a millisecond, so that it does not delay other clients."""


class OperationCalls(StoreClient):
    """The role of operations in the broker."""

    def operate(self, pool: str, id: str, fence: int, order: Order, *, tells: Sequence[str] = ()) -> Step:
        """Perform the next part under the lease of the operation's task.

        Place and counts are written with the changes. So a repeated call goes on, and counts nothing twice.
        The step names the tasks of the kinds in ``tells`` that it cancelled.
        """
        if order.verb == "move":
            self.lane_patterns.prepare(pool, [order.value])
        word, seen, changed, alone, ended, cancelled = self._call(
            "operate",
            pool,
            id,
            fence,
            order.verb,
            order.token,
            self.rules,
            order.value,
            "hard" if order.hard else TRASH_MS,
            order.who[:100],
            ",".join(states.states_allowing(order.verb)),
            PART,
            order.most,
            order.asked_ms,
            "1" if order.takes_back else "",
            ",".join(tells),
            len(order.indexes),
            *order.indexes,
            *(part for pair in order.wanted for part in pair),
        )
        endings.tell(endings.read(pool, ended))
        if alone == b"1":
            self.bring(pool)
        return Step(word.decode(), int(seen), int(changed), tuple(id.decode() for id in cancelled))

    def hold_operation(self, pool: str, id: str, *, holds: bool, who: str = "") -> tuple[str, str]:
        """Pause an operation, or let it go on. Returns the word (OK, REPEAT, REFUSED, GONE) and its state."""
        reply = self._call("hold_operation", pool, id, "1" if holds else "", who[:100])
        if len(reply) != 2:
            raise BadReply(script="hold_operation", reply=reply)
        return reply[0].decode(), reply[1].decode()
