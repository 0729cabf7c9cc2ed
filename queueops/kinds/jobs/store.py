"""Store of jobs: creates jobs with the limits of their lanes, and reads these lanes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from queueops.model.contracts import Push, Pushed
from queueops.redis import pushwire
from queueops.redis.pushwire import Argument
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
