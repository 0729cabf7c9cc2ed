"""Lane of the chunks of one map-reduce task, as a list of them shows it."""

from __future__ import annotations

from queueops.inspect.answer_base import Answer


class ChunkLane(Answer, frozen=True, kw_only=True):
    """The chunks of one aggregating map-reduce task: they wait in a lane of their own."""

    pool: str
    id: str
    name: str
    lane: str  # the task's lane: when that is paused, its chunks wait too
    ready: int
    active: int
    errored: int
    done: int = 0
    failed: int = 0
    limit: int | None = None
    closed: bool = False  # workers claim none now: the task's lane is paused, or chunks are being moved back to pending
