"""Store of the outbox: commands between pools, and their delivery where no worker delivers them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

from redis.exceptions import RedisError

from queueops.errors import QueueOpsError
from queueops.model import endings
from queueops.model.contracts import Command, Posted, Row, Told
from queueops.redis import wire
from queueops.redis.store_client import HASTE_S, StoreClient

BATCH = 25
"""Commands in one call, which then takes less than a millisecond."""
MOST = 500
"""Commands that a process delivers after its push or action if no worker does; the watchdog delivers the rest."""

logger = logging.getLogger("queueops.outbox")


class OutboxCalls(StoreClient):
    """The outbox role of the broker."""

    def post(self, pool: str, *, told: Sequence[Told] = (), apply: Sequence[Command] = (), take: int = -1) -> Posted:
        """Report the outcome of this pool's commands, apply commands for its tasks, take others.

        Not repeated automatically.
        """
        arguments = wire.command_arguments(self.rules, told, apply, take)
        reply = self.once(pool, self.scripts.send, "command", self.keys(pool).prefix, *arguments)
        return wire.read_posted(pool, reply)

    def bring(self, pool: str) -> None:
        """Deliver the outbox of a pool that no worker serves, and the commands that result; at most 500 commands.

        The action itself is already done, so no error is raised. The watchdog delivers the rest. A server that may not
        answer is not waited for long.
        """
        if not self.spread:
            self._try_to_bring(pool)
            return
        thread = threading.Thread(target=self._try_to_bring, args=(pool,), name="queueops-bring", daemon=True)
        thread.start()
        thread.join(HASTE_S)

    def redeliver(self, pool: str, verb: str, ids: Sequence[str], *, dead: int = 0) -> tuple[list[Row], int]:
        """Retry commands of a pool at once (requeue), or drop them; at most 500. Without ids, that many of the dead.

        Returns for each row where it was (due, locked, dead), and how many dead commands remain.
        """
        left, *parts = self._call("redeliver", pool, verb, dead, *ids)
        texts = [part.decode("utf-8", "replace") for part in parts]
        return [Row(*texts[i : i + 3]) for i in range(0, len(texts), 3)], int(left)

    def _try_to_bring(self, pool: str) -> None:
        try:
            self._bring(pool)
        except (QueueOpsError, RedisError) as error:
            logger.warning("Commands of pool %s are left to the watchdog: %s", pool, error)

    def _bring(self, pool: str) -> None:
        waiting, left = self.post(pool, take=BATCH).taken, MOST
        while waiting and left > 0:
            way = waiting[0].to, waiting[0].pool
            batch = [each for each in waiting if (each.to, each.pool) == way][:BATCH]
            taken = {(each.pool, each.id) for each in batch}
            left -= len(batch)
            posted = self.post(way[0], apply=batch, take=0)
            endings.tell(posted.ended)
            told = [each.went(*answer) for each, answer in zip(batch, posted.answers, strict=True)]
            more = self.post(way[1], told=told, take=max(0, min(BATCH, left)) if way[1] == pool else 0)
            endings.tell(more.ended)
            waiting = [each for each in waiting if (each.pool, each.id) not in taken] + posted.taken + more.taken
