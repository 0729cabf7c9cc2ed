"""What the model of map-reduce remembers: tasks, their chunks, and who holds them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

TERMINAL = ("succeeded", "failed", "cancelled")
RESTING = ("pending", "postponed", "restart")
LEASED = ("mapping", "reducing")
OPEN = ("pending", "active", "errored")
MAX_CRASHES = 2
RETRIES = 1


@dataclass
class Held:
    """What may be leased. ``fence`` None: no lease that was ever given is valid."""

    state: str = "pending"
    fence: int | None = None
    worker: str = ""
    attempts: int = 0
    crashes: int = 0


@dataclass
class Chunk(Held):
    """One chunk, and its second run, while there is one."""

    number: int = 0
    dropped: bool = False
    twin: Held | None = None


@dataclass
class Task(Held):
    """A task. ``chunks`` None: none under its id belong to it. ``size``: how many the map gave.

    ``written``: how many a map wrote that is ``unfinished``: it has begun, and not ended.
    """

    id: str = ""
    chunks: dict[int, Chunk] | None = None
    size: int | None = None
    written: int = 0
    unfinished: bool = False
    tolerated: int = 0
    limit: int | None = None
    key_limit: int | None = None
    dropped: int = 0
    reduces: bool = False
    cancel: bool = False

    def of(self, *wanted: str) -> list[Chunk]:
        return [chunk for chunk in (self.chunks or {}).values() if chunk.state in wanted]

    @property
    def running(self) -> int:
        """How many of its chunks run, and second runs of them."""
        twins = [chunk.twin for chunk in (self.chunks or {}).values() if chunk.twin]
        return len(self.of("active")) + sum(twin.state == "active" for twin in twins)

    @property
    def may_be_mended(self) -> bool:
        """Whether its chunks may be taken up."""
        stage = self.state == "aggregating" or self.state in TERMINAL or (self.reduces and self.state in RESTING)
        return self.chunks is not None and self.size is not None and stage


def begin_of_key(tasks: Iterable[Task], chunks: Mapping[str, Sequence[str]]) -> tuple[int, int]:
    """How many of these chunks and of the second runs of tasks with a key begin, from least to most. All share one.

    A second run of what is ready again has a turn until a worker meets it.
    """
    keyed = [task for task in tasks if task.key_limit is not None]
    running = sum(task.running for task in keyed)
    twins = sum(
        chunk.twin is not None and chunk.twin.state == "pending"
        for task in keyed
        for chunk in (task.chunks or {}).values()
    )
    ready = sum(len(chunks.get(task.id, ())) for task in keyed)
    most = max((task.key_limit or 0 for task in keyed), default=0)
    return int(ready > 0 and not running and not twins), min(ready + twins, max(0, most - running))
