"""Crash attribution: decides which task is charged when a process dies in which several tasks ran.

A task that ran alone is charged with the crash. Tasks that ran together share half a crash. The share of each grows
with the number of crashes that it was in before. A task is charged when its shares add up to one crash. A poison task,
which kills its process, gets a share of each crash, while the tasks beside it change. So it is charged after a few
crashes, however many tasks run beside it, and the other tasks are not. After each crash, the tasks that died together
wait: longer each time, and each for a different time. So they start apart, and the poison task is found sooner.
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
        if len(running) < 2:
            return {(task.pool, task.id): 0 for task in running}
        before = {(task.pool, task.id): self._of.pop((task.pool, task.id), (0.0, 0)) for task in running}
        part = SHARED / sum(1 + deaths for _, deaths in before.values())
        judged = {}
        for key, (share, deaths) in before.items():
            share += part * (1 + deaths)
            self._of[key] = share % 1, deaths + 1
            judged[key] = 0 if share >= 1 else deaths + 1
        for key in list(self._of)[:-REMEMBERED]:
            del self._of[key]
        return judged
