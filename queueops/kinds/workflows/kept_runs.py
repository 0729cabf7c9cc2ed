"""Runs in memory: a worker process keeps those of its last steps, so that their next steps need no replay."""

from __future__ import annotations

import threading
from collections import OrderedDict

from queueops.kinds.workflows import code_version
from queueops.kinds.workflows.replay.execution import Execution
from queueops.kinds.workflows.settings import DEFAULTS, of_workflows
from queueops.model.contracts import Lease
from queueops.worker.heartbeat import memory_bytes

KEPT_RUNS = DEFAULTS.kept_runs
LEAST = 1_000
"""So many runs are kept whatever the memory of the process, unless a setting says how many."""
MEMORY = 512 * 1024 * 1024
"""Bytes of the process up to which it keeps more."""
SURPLUS = 2
"""Runs that go with each step once the process has more than that."""


class KeptRuns:
    """Runs in memory, by pool and id: those of the last steps. A run is taken out while a step of it is made."""

    def __init__(self, most: int | None = None) -> None:
        """``most``: by default, as the settings say."""
        self.most = most
        self.hits = self.replays = 0
        self._kept: OrderedDict[tuple[str, str], tuple[int, Execution]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, lease: Lease) -> tuple[int, Execution] | None:
        """The run of a lease, with the fence of its last step."""
        with self._lock:
            return self._kept.pop((lease.pool, lease.id), None)

    def put(self, lease: Lease, execution: Execution) -> None:
        """Keep a run after a step. Those that were kept longest go for it, if there is no room."""
        with self._lock:
            self._kept[lease.pool, lease.id] = (lease.fence, execution)
            evicted = [self._kept.popitem(last=False)[1][1] for _ in range(self._surplus())]
        for each in evicted:
            each.dispose()

    def count_step(self, *, is_hit: bool, is_replay: bool) -> None:
        """Count a step of a run that was in memory, or that began with a replay. The first step of a run is neither."""
        with self._lock:
            self.hits += is_hit
            self.replays += is_replay

    def facts(self) -> dict[str, str]:
        """What the page of the worker shows; nothing before the first step behind another one."""
        if not self.hits + self.replays:
            return {}
        return {"kept runs": f"{len(self._kept):,}", "hits": f"{self.hits:,}", "replays": f"{self.replays:,}"}

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            kept, self._kept = self._kept, OrderedDict()
        for _, execution in kept.values():
            execution.dispose()

    def _surplus(self) -> int:
        most, count = of_workflows().kept_runs if self.most is None else self.most, len(self._kept)
        if most is not None:
            return max(0, count - most)
        return SURPLUS if count > LEAST and memory_bytes() > MEMORY else 0


kept_runs = KeptRuns()


def facts(lanes: tuple[str, ...]) -> dict[str, str]:
    """What a worker's heartbeat says of its workflows."""
    return code_version.facts(lanes) | kept_runs.facts()
