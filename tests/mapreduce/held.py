"""What the model of map-reduce remembers: tasks, their chunks, and who holds them."""

from __future__ import annotations

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
