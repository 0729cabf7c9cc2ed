"""Crash attribution: decides which task is charged when a process dies in which several tasks ran.

A task that ran alone is charged. Several tasks share half a charge. A task whose shares reach a whole charge is
charged. A poison task runs in each crash, while its neighbours change. So it is found after a few more deaths, and its
neighbours are not charged. Tasks that died together wait longer after each crash, each for a different time. This
separates them, and the poison task is found sooner.
"""

from __future__ import annotations

from collections.abc import Collection

from queueops.worker.shared_slot_table import Running

SHARED = 0.5
"""The part of a crash that tasks which ran together share; each of them may be innocent."""
REMEMBERED = 10_000
"""How many suspects are kept: those of the most recent deaths."""

Key = tuple[str, str]


class CrashAttribution:
    """What the supervisor knows of the tasks that were running when one of its processes died."""

    def __init__(self) -> None:
        self._of: dict[Key, tuple[float, int]] = {}

    def judge(self, running: Collection[Running]) -> dict[Key, int]:
        """By pool and id: 0 for a task charged with this death, else how often it has died together with others."""
        if len(running) == 1:
            return {(task.pool, task.id): 0 for task in running}
        judged = {(task.pool, task.id): self._share((task.pool, task.id), SHARED / len(running)) for task in running}
        for key in list(self._of)[:-REMEMBERED]:
            del self._of[key]
        return judged

    def _share(self, key: Key, share: float) -> int:
        share_before, deaths = self._of.pop(key, (0.0, 0))
        self._of[key] = (share_before + share) % 1, deaths + 1
        return 0 if share_before + share >= 1 else deaths + 1
