"""Remembering tasks."""

from __future__ import annotations

from functools import partial

from redis.exceptions import ResponseError

from queueops.records import Record, Undecodable, decode
from queueops.redis.link import Link


class Storing(Link):
    """The storage: it knows no execution logic."""

    def record(self, pool: str, task_id: str) -> Record | None:
        """The record of a task, or None. Raises records.Undecodable for one that can't be read."""
        keys = self.keys(pool)
        try:
            raw = self._repeat(partial(self.client.hgetall, keys.task(task_id)))
        except ResponseError as error:
            if not str(error).startswith("WRONGTYPE"):
                raise
            raise Undecodable(f"the key of task {task_id} holds no record") from error
        if not raw:
            return None
        record = decode(task_id, pool, raw)
        if not record.created:  # never claimed: it has been where it is since it was created
            record.created = int(self._repeat(partial(self.client.zscore, keys.state(record.state), task_id)) or 0)
        return record

    def retry_policy(self, pool: str, task_id: str) -> tuple[str, int]:
        """How a task, or a chunk, is retried, and how many of its attempts have failed."""
        parent, _, chunk = task_id.partition("#")
        keys = self.keys(pool)

        def read() -> list[bytes | None]:
            with self.client.pipeline(transaction=False) as pipe:
                pipe.hget(keys.task(parent), "xp" if chunk else "rp")
                pipe.hget(keys.task(task_id.removesuffix("~")), "at")
                return list(pipe.execute())

        policy, attempts = self._repeat(read)
        return (policy or b"").decode(), int(attempts or 0)

    def find(self, task_id: str) -> tuple[str, Record] | None:
        """The pool that holds this id, and its record."""
        for pool in self.pools():
            try:
                record = self.record(pool, task_id)
            except Undecodable:
                continue
            if record is not None:
                return pool, record
        return None

    def find_pool(self, task_id: str) -> str | None:
        """The pool that holds this id, whatever state its record is in."""
        for pool in self.pools():
            if self._repeat(partial(self.client.exists, self.keys(pool).task(task_id))):
                return pool
        return None

    def last(self, pool: str, task_id: str) -> Record | None:
        """The generation before the present one, or None: kept for a minute when somebody waited for its end."""
        raw = self._repeat(partial(self.client.hgetall, self.keys(pool).last(task_id)))
        return decode(task_id, pool, raw) if raw else None

    def wait(self, pool: str, task_id: str, uid: int = 0, *, after: bool = False) -> str:
        """Ask to be told of the end on the channel ``keys.done``; the state now, or '' when there is no such task.

        With the generation ``uid``: `superseded` when another one has the id. With ``after`` the one after it is meant:
        `waiting` as long as that has not got its turn.
        """
        state: bytes = self._call("wait", pool, task_id, uid, int(after))
        return state.decode()
