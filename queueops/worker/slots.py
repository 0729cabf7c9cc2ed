"""What each slot of a worker process runs, in memory that it shares with its supervisor.

The process writes a record when a task really starts and clears it at its end. When the process dies, by whatever
signal, the supervisor still knows which of its tasks had been started (the crash rule judges those) and which had
only been fetched (they go back free of charge). It also finds here which task is past its hard limit.
"""

from __future__ import annotations

import mmap
import struct
from enum import IntEnum
from typing import NamedTuple

MAX_ID = 212  # of a task, and of a chunk, whose id is its task's and a number
MAX_POOL = 100
_RECORD = struct.Struct(f"<QddI{MAX_ID}s{MAX_POOL}sB")
_FLAG = _RECORD.size - 1  # last, so that a record is only seen when all of it has been written
NEVER = float("inf")


class Farewell(IntEnum):
    """How a process ended: DONE and RETIRED (to be replaced) are in order."""

    NONE = 0
    DONE = 1
    RETIRED = 2


class Running(NamedTuple):
    """A started task. ``started`` and ``deadline`` (the hard limit) are seconds of the monotonic clock."""

    slot: int
    fence: int
    started: float
    deadline: float
    attempt: int
    id: str
    pool: str


class SlotTable:
    """A fixed number of records in anonymous shared memory, made before the fork."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._memory = mmap.mmap(-1, size * _RECORD.size + 2)
        self._flags = [slot * _RECORD.size + _FLAG for slot in range(size)]

    def start(
        self, slot: int, task_id: str, pool: str, fence: int, started: float, deadline: float, attempt: int
    ) -> None:
        """Say that ``slot`` runs this task from now on."""
        _RECORD.pack_into(
            self._memory, slot * _RECORD.size, fence, started, deadline, attempt, task_id.encode(), pool.encode(), 1
        )

    def clear(self, slot: int) -> None:
        """Say that ``slot`` runs nothing."""
        self._memory[self._flags[slot]] = 0

    def running(self) -> list[Running]:
        """The tasks that are running, or were when the process died."""
        return [self._read(slot) for slot, flag in enumerate(self._flags) if self._memory[flag]]

    def overdue(self, now: float) -> list[Running]:
        """The tasks whose hard limit has passed."""
        return [running for running in self.running() if running.deadline < now]

    @property
    def used(self) -> bool:
        """Whether the process began any task."""
        return any(self._memory[flag - MAX_POOL] for flag in self._flags)

    @property
    def retiring(self) -> bool:
        """Whether the process claims nothing more, and ends when what it runs has ended."""
        return bool(self._memory[-2])

    @retiring.setter
    def retiring(self, retiring: bool) -> None:
        self._memory[-2] = retiring

    @property
    def farewell(self) -> Farewell:
        """What the process said when it ended; NONE when it died, whatever its exit status was."""
        return Farewell(self._memory[-1])

    @farewell.setter
    def farewell(self, word: Farewell) -> None:
        self._memory[-1] = word

    def close(self) -> None:
        """Give the memory back."""
        self._memory.close()

    def _read(self, slot: int) -> Running:
        fence, started, deadline, attempt, task_id, pool, _ = _RECORD.unpack_from(self._memory, slot * _RECORD.size)
        text = task_id.rstrip(b"\0").decode("utf-8", "replace")
        return Running(slot, fence, started, deadline, attempt, text, pool.rstrip(b"\0").decode("utf-8", "replace"))
