"""What a worker is told at its start."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from queueops import conf

DEFAULT_POOL = "default"
DEFAULT_THREADS = 8
BATCH_ALONE, BATCH_AMONG_OTHERS = 64, 128
"""Tasks in one call: of the only process, and of one of several. The only one sends its next call before the answer to
the last has come, so that the store never waits for it. Several keep it busy without that: each sends twice as much
instead. So other clients do not wait longer for the store, and together the processes do a tenth more.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """One worker: its processes share these. Times are in seconds.

    ``threads`` is how many tasks one process runs at a time, sync or async; ``batch`` how many it claims at most in one
    round trip (0: as is best for so many processes); a process ends for a new one after ``max_tasks`` tasks or above
    ``max_memory`` MB.
    """

    pools: tuple[str, ...] = (DEFAULT_POOL,)
    processes: int = 1
    threads: int = DEFAULT_THREADS
    batch: int = 0
    burst: bool = False
    lease: float = 30.0
    grace: float = 25.0
    hung_after: float = 300.0
    max_tasks: int | None = None
    max_memory: int | None = None
    reload: bool = False

    @property
    def is_alone(self) -> bool:
        """Whether a process has no siblings."""
        return self.processes == 1

    @property
    def claims(self) -> int:
        """How many tasks are claimed at most in one round trip."""
        return self.batch or (BATCH_ALONE if self.is_alone else BATCH_AMONG_OTHERS)

    @classmethod
    def from_settings(cls, **given: Any) -> WorkerOptions:
        """Options with the settings' lease, grace and pools; what is None keeps its default."""
        settings = conf.current()
        declared = tuple(dict.fromkeys((DEFAULT_POOL, *settings.pools)))
        own: dict[str, Any] = {"lease": settings.lease, "grace": settings.grace, "hung_after": settings.hung_after}
        return cls(**own | {"pools": declared} | {name: value for name, value in given.items() if value is not None})


def worker_id(number: int) -> str:
    """The name of one process: where it runs, and enough more that no two have ever the same."""
    host = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in os.uname().nodename)
    return f"{host[:60]}:{os.getpid()}:{number}:{os.urandom(3).hex()}"
