"""Which task is charged with a crash when a process dies in which several tasks ran.

A task that ran alone is charged. Several tasks share half the blame of a crash. A task that has gathered a whole one is
charged with it: a task that kills its workers runs in each crash, and its neighbours change. So a poison task is found
after a few more deaths, and its neighbours are spared. Tasks that died together wait longer each time before they run
again, each for another time: this finds the poison task sooner.
"""

from __future__ import annotations

from collections.abc import Collection

from queueops.worker.supervisor.shared_slot_table import Running

SHARED = 0.5
"""So much of a crash is shared by those who ran in company: each of them may just have been there."""
REMEMBERED = 10_000
"""So many suspects are kept, those of the last deaths."""

Key = tuple[str, str]


class CrashAttribution:
    """What the supervisor knows of the tasks that were running when one of its processes died."""

    def __init__(self) -> None:
        self._of: dict[Key, tuple[float, int]] = {}

    def judge(self, running: Collection[Running]) -> dict[Key, int]:
        """By pool and id: 0 for a task that is charged with this death, else how often it died in company by now."""
        if len(running) == 1:
            return {(task.pool, task.id): 0 for task in running}
        judged = {(task.pool, task.id): self._share((task.pool, task.id), SHARED / len(running)) for task in running}
        for key in list(self._of)[:-REMEMBERED]:
            del self._of[key]
        return judged

    def _share(self, key: Key, share: float) -> int:
        blame, deaths = self._of.pop(key, (0.0, 0))
        self._of[key] = (blame + share) % 1, deaths + 1
        return 0 if blame + share >= 1 else deaths + 1
