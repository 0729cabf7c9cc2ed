"""Store of jobs: creates jobs with the limits of their lanes, and reads these lanes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from queueops.model.contracts import Push, Pushed
from queueops.redis import pushwire
from queueops.redis.keys import Keys
from queueops.redis.pushwire import Argument
from queueops.redis.query_replies import text
from queueops.redis.store_client import BATCH, StoreClient


class LaneOfJobs(NamedTuple):
    """A lane of jobs or callbacks: its name, what it stands for, and the limits that its first push gives it."""

    lane: str
    id: str
    limit: int | None = None
    rate: float | None = None


class NewJob(NamedTuple):
    """A job to be created, and the lanes that it needs: its own, and those of its callbacks."""

    push: Push
    lanes: tuple[LaneOfJobs, ...]


class StoredCallback(NamedTuple):
    """What the record of a callback holds: its arguments, the end of its job, and its result. Empty: nothing."""

    args: bytes = b""
    previous: bytes = b""
    result: bytes = b""


class JobCalls(StoreClient):
    """The role of jobs in the broker."""

    def submit_jobs(self, pool: str, jobs: Sequence[NewJob]) -> list[Pushed]:
        """Create jobs of one pool, in batches. A call without a reply is repeated, and creates nothing twice.

        Raises BrokerUnavailable and StoreFull.
        """
        found: list[Pushed] = []
        self.announce(pool)
        for start in range(0, len(jobs), BATCH):
            batch = jobs[start : start + BATCH]
            lanes = {lane.lane: lane for job in batch for lane in reversed(job.lanes)}
            self.lane_patterns.prepare(pool, lanes)
            reply = self._call("submit_jobs", pool, *_arguments(batch, list(lanes.values())))
            words = zip(reply[::2], reply[1::2], batch, strict=True)
            found += [Pushed(job.push.id, int(uid), word.decode()) for word, uid, job in words]
        return found

    def callbacks(self, ids: Sequence[tuple[str, str]]) -> dict[tuple[str, str], StoredCallback]:
        """What the records of callbacks hold, by pool and id; of one that is gone: nothing."""
        found: dict[tuple[str, str], StoredCallback] = {}
        for pool in dict.fromkeys(pool for pool, _ in ids):
            wanted = [id for its_pool, id in ids if its_pool == pool]
            keys = self.keys(pool)

            def fill(pipe: Any, wanted: Sequence[str] = wanted, keys: Keys = keys) -> None:
                for id in wanted:
                    pipe.hmget(keys.task(id), "a", "pv", "re")

            rows = self.ask_all(pool, fill)
            found |= {
                (pool, id): StoredCallback(*(value or b"" for value in row or ()))
                for id, row in zip(wanted, rows, strict=True)
            }
        return found

    def kinds_and_states(self, pool: str, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """The kind and the state of each record; empty texts for one that is gone."""
        keys = self.keys(pool)

        def fill(pipe: Any) -> None:
            for id in ids:
                pipe.hmget(keys.task(id), "k", "s")

        rows = self.ask_all(pool, fill)
        return {
            id: (text(row[0]) or "task" if row and row[1] else "", text(row[1]) if row else "")
            for id, row in zip(ids, rows, strict=True)
        }


def _arguments(jobs: Sequence[NewJob], lanes: Sequence[LaneOfJobs]) -> list[Argument]:
    arguments: list[Argument] = [len(lanes)]
    for lane in lanes:
        limit, rate = ("" if value is None else value for value in (lane.limit, lane.rate))
        arguments += (lane.lane, lane.id, limit, rate)
    arguments.append(len(jobs))
    for push, _ in jobs:
        fields = pushwire.record_fields(push)
        arguments += (push.id, push.token, pushwire.due_argument(push), len(fields), *fields)
    return arguments
