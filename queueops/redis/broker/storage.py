"""Task storage: reads task records and logs, and locates tasks by id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeVar

from queueops.model import kinds
from queueops.model.records import Record, Undecodable, decode
from queueops.redis.query_replies import text, whole
from queueops.redis.store_client import StoreClient
from queueops.redis.subscription import RedisListener

T = TypeVar("T")


class StorageCalls(StoreClient):
    """The storage role of the broker. It contains no execution logic."""

    def record(self, pool: str, task_id: str) -> Record | None:
        """The record of a task, or None. Raises records.Undecodable for an unreadable one."""
        keys = self.keys(pool)
        raw = self.read_hash(pool, keys.task(task_id))
        if raw is None:
            raise Undecodable(f"the key of task {task_id} holds no record")
        if not raw:
            return None
        record = decode(task_id, pool, raw)
        if not record.created:  # never claimed: it has been in this state since it was created
            state = keys.state(record.state)
            entered = self.ask_one(pool, lambda client: client.zscore(state, task_id))
            record.created = whole(entered)
        return record

    def retry_policy(self, pool: str, task_id: str) -> tuple[str, int]:
        """The retry policy of a task or a part of one, and how many of its attempts have failed."""
        parent, _, number = task_id.partition("#")
        keys, field = self.keys(pool), kinds.only("parts.states").retry if number else "rp"

        def fill(pipe: Any) -> None:
            pipe.hget(keys.task(parent), field)
            pipe.hget(keys.task(task_id.removesuffix("~")), "at")

        policy, attempts = self.ask_all(pool, fill)
        return text(policy), whole(attempts)

    def log(self, pool: str, task_id: str) -> list[bytes]:
        """The lines of a task's log, oldest first; none if the key is of a wrong type."""
        lines = self.ask_one(pool, lambda client: client.lrange(self.keys(pool).log(task_id), 0, -1))
        return lines or []

    def find(self, task_id: str) -> tuple[str, Record] | None:
        """The pool that holds this id, and the task's record.

        Raises BrokerUnavailable if the task may be in a pool that does not answer.
        """

        def look(link: Self, names: list[str]) -> dict[str, Record]:
            return {pool: record for pool in names if (record := link._readable(pool, task_id)) is not None}

        return next(iter(self._found(look).items()), None)

    def _found(self, look: Callable[[Self, list[str]], dict[str, T]]) -> dict[str, T]:
        """Search pools. All servers of a cluster are asked in parallel, with short timeouts."""
        if not self.servers.is_cluster:
            return next(filter(None, (look(self, [pool]) for pool in self.pools())), {})
        link = self.hasty()
        names, reason = link.registry.seen()
        found = link.fan_out.find(names, lambda names: look(link, names))
        if reason and not found:
            raise link.fan_out.unavailable(reason)
        return found

    def _readable(self, pool: str, task_id: str) -> Record | None:
        """The record, or None if there is no readable one."""
        try:
            return self.record(pool, task_id)
        except Undecodable:
            return None

    def last(self, pool: str, task_id: str) -> Record | None:
        """The previous generation, or None; kept for a minute if a caller waited for its end."""
        key = self.keys(pool).last(task_id)
        raw = self.ask_one(pool, lambda client: client.hgetall(key))
        return decode(task_id, pool, raw) if raw else None

    def done_channel(self, pool: str, task_id: str) -> str:
        """The channel on which the end of a task is published."""
        return self.keys(pool).done(task_id)

    def end_listener(self, pool: str) -> RedisListener:
        """Connect for the messages of ``done_channel``, on the server of a pool."""
        return RedisListener(self, pool)

    def wait(self, pool: str, task_id: str, uid: int = 0, *, after: bool = False) -> str:
        """Request a message at the end on ``done_channel``; return the current state, '' if there is none.

        With the generation ``uid``: `superseded` if another generation has the id. With ``after``, the next generation
        is meant: `waiting` until its turn comes.
        """
        state: bytes = self._call("wait", pool, task_id, uid, int(after))
        return state.decode()
