"""Shared slot table: shared memory with the task of each slot of a worker process, and the process's signs of life.

The process writes a record when a task really starts, and clears it at the task's end. The table outlives the process,
whatever signal killed it. The supervisor then still knows which tasks had started: the crash rule applies to them.
Tasks that were only prefetched go back to their lanes without a charge. The table also shows which task is past its
hard limit, and when the process last ran Python code.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

MAX_ID = 212  # of a task or of a chunk; a chunk's id is its task's id and a number
MAX_POOL = 100
_RECORD = struct.Struct(f"<QddI?{MAX_ID}s{MAX_POOL}sB")
_FLAG = _RECORD.size - 1  # written last, so that a reader never sees half a record
_TIMES = 5
_EXPECTED, _ANSWERED, _WATCHED, _CONDEMNED_AT, _CONDEMNED = range(_TIMES)
_EPOCH, _CONDITION, _RETIRING, _FAREWELL = range(8 * _TIMES, 8 * _TIMES + 4)
_HEAD = _FAREWELL + 1
_RUNS, _ENDED = 1, 2
NEVER = float("inf")


class Farewell(IntEnum):
    """How a process ended. DONE and RETIRED (to be replaced) are orderly ends."""

    NONE = 0
    DONE = 1
    RETIRED = 2


class Condition(IntEnum):
    """The supervisor's judgement of a process. SILENT: no sign of life. HUNG: silent for longer than the limit."""

    LIVE = 0
    SILENT = 1
    HUNG = 2


class Running(NamedTuple):
    """A started task. ``started`` and ``deadline`` (the hard limit) are seconds of the monotonic clock.

    ``cancelled``: the deadline comes from a hard cancel, not from the task's timeout.
    """

    slot: int
    fence: int
    started: float
    deadline: float
    attempt: int
    id: str
    pool: str
    cancelled: bool = False


class SlotTable:
    """A fixed number of records in anonymous shared memory, one per slot and pool, allocated before the fork.

    A cleared record stays until the slot starts its next task of that pool. Times are of the monotonic clock. Each
    field of the head has one writer: the process, its supervisor, or the lease keeper.
    """

    def __init__(self, size: int, pools: Sequence[str] = ("default",)) -> None:
        self.size = size
        count = size * len(pools)
        self._memory = mmap.mmap(-1, _HEAD + count * _RECORD.size)
        self._head = memoryview(self._memory)
        self._times = self._head[: 8 * _TIMES].cast("d")
        self._offsets = [_HEAD + number * _RECORD.size for number in range(count)]
        self._flags = [offset + _FLAG for offset in self._offsets]
        self._first = {pool: number * size for number, pool in enumerate(pools)}
        self._open = self._flags[:size]
        self.has_ended = False

    def start(
        self,
        slot: int,
        task_id: str,
        pool: str,
        fence: int,
        started: float,
        deadline: float,
        attempt: int,
        cancelled: bool = False,
    ) -> int:
        """Record that ``slot`` runs this task from now on; return the epoch, which is read after the write."""
        offset = self._offsets[self._first.get(pool, 0) + slot]
        self._open[slot] = offset + _FLAG
        _RECORD.pack_into(
            self._memory, offset, fence, started, deadline, attempt, cancelled, task_id.encode(), pool.encode(), _RUNS
        )
        return self._memory[_EPOCH]

    def clear(self, slot: int) -> None:
        """Record that the task of ``slot`` has ended; its outcome has not been sent yet."""
        self._memory[self._open[slot]] = _ENDED
        self.has_ended = True

    def withdraw(self, slot: int) -> None:
        """Record that the task of ``slot`` does not run after all."""
        self._memory[self._open[slot]] = 0

    def forget_ended(self) -> None:
        """Record that the store knows the outcomes of all ended tasks."""
        self.has_ended = False
        for flag in self._flags:
            if self._memory[flag] == _ENDED:
                self._memory[flag] = 0

    def running(self) -> list[Running]:
        """The tasks that are running, or were running when the process died."""
        return self._flagged(_RUNS)

    def ended(self) -> list[Running]:
        """The last task of each slot, if it has ended and its outcome may not have been sent."""
        return self._flagged(_ENDED)

    def overdue(self, now: float) -> list[Running]:
        """The tasks whose hard limit has passed."""
        return [running for running in self.running() if running.deadline < now]

    def newest_started(self, pool: str) -> int:
        """The highest fence of this pool that any slot has started; 0 if none has started.

        Tasks of a pool start in the order of their fences. A lease with a higher fence has therefore never started.
        """
        records = map(self._read, range(len(self._flags)))
        return max((record.fence for record in records if record.pool == pool), default=0)

    @property
    def used(self) -> bool:
        """Whether the process has started any task."""
        return any(self._memory[flag - MAX_POOL] for flag in self._flags)

    # Signs of life

    def expect(self, moment: float) -> None:
        """Called by the process: its main loop makes its next turn at this moment or sooner."""
        self._times[_EXPECTED] = moment

    def answer(self, now: float) -> None:
        """Called by the process: it runs Python code now."""
        self._times[_ANSWERED] = now

    @property
    def last_sign(self) -> float:
        """The moment until which the process is known to be alive; 0 before its first turn."""
        expected = self._times[_EXPECTED]
        return max(expected, self._times[_ANSWERED]) if expected else 0.0

    @property
    def epoch(self) -> int:
        """How often the supervisor took over the leases of the process, modulo 256.

        A task that was claimed in an earlier epoch may have been given back. The process does not start it any more.
        """
        return self._memory[_EPOCH]

    @property
    def condition(self) -> Condition:
        """The supervisor's judgement of the process."""
        return Condition(self._memory[_CONDITION])

    @condition.setter
    def condition(self, condition: Condition) -> None:
        if self.condition is Condition.LIVE and condition is not Condition.LIVE:
            self._memory[_EPOCH] = (self._memory[_EPOCH] + 1) % 256
        self._memory[_CONDITION] = condition

    @property
    def watched(self) -> float:
        """When the supervisor last looked at a process that is silent or hung."""
        return self._times[_WATCHED]

    @watched.setter
    def watched(self, now: float) -> None:
        self._times[_WATCHED] = now

    def condemn(self, running: Running) -> None:
        """Called by the lease keeper: an operator has cancelled this task hard."""
        self._times[_CONDEMNED_AT] = self._first.get(running.pool, 0) + running.slot
        self._times[_CONDEMNED] = running.fence

    def condemned(self) -> Running | None:
        """The running task for which the lease keeper has received a hard cancel."""
        number, fence = int(self._times[_CONDEMNED_AT]), self._times[_CONDEMNED]
        if not fence or self._memory[self._flags[number]] != _RUNS:
            return None
        running = self._read(number)
        return running if running.fence == fence else None

    # The end

    @property
    def retiring(self) -> bool:
        """Whether the process claims nothing more, and exits when its tasks have ended."""
        return bool(self._memory[_RETIRING])

    @retiring.setter
    def retiring(self, retiring: bool) -> None:
        self._memory[_RETIRING] = retiring

    @property
    def farewell(self) -> Farewell:
        """How the process reported its end; NONE if it died, whatever its exit status was."""
        return Farewell(self._memory[_FAREWELL])

    @farewell.setter
    def farewell(self, word: Farewell) -> None:
        self._memory[_FAREWELL] = word

    def close(self) -> None:
        """Release the memory."""
        self._times.release()
        self._head.release()
        self._memory.close()

    def _flagged(self, word: int) -> list[Running]:
        return [self._read(number) for number, flag in enumerate(self._flags) if self._memory[flag] == word]

    def _read(self, number: int) -> Running:
        record = _RECORD.unpack_from(self._memory, self._offsets[number])
        fence, started, deadline, attempt, cancelled, *names, _ = record
        task_id, pool = (name.rstrip(b"\0").decode("utf-8", "replace") for name in names)
        return Running(number % self.size, fence, started, deadline, attempt, task_id, pool, cancelled)
