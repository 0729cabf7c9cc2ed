"""Crash attribution: decides which task is charged when a process dies in which several tasks ran.

A task that ran alone is charged with the crash. Tasks that ran together get equal shares of half a crash. A task is
charged when its shares add up to one crash. A poison task, which kills its process, gets a share of each crash, while
the tasks beside it change. So the poison task is charged after a few crashes, and the other tasks are not. After each
crash, the tasks that died together wait: longer each time, and each for a different time. So they start apart, and the
poison task is found sooner.
"""

from __future__ import annotations

from collections.abc import Collection

from queueops.worker.shared_slot_table import Running

SHARED = 0.5
"""The part of one crash that is divided among the tasks that ran together; each of them may be innocent."""
REMEMBERED = 10_000
"""The most suspects that are remembered. Those with the oldest crashes are forgotten first."""

Key = tuple[str, str]


class CrashAttribution:
    """The supervisor's memory of tasks that were running when one of its processes died."""

    def __init__(self) -> None:
        self._of: dict[Key, tuple[float, int]] = {}

    def judge(self, running: Collection[Running]) -> dict[Key, int]:
        """Map each (pool, id) to 0 if the task is charged with this crash, else to its number of shared crashes."""
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
