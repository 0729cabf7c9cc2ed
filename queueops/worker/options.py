"""What a worker is told at its start."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from queueops import conf

DEFAULT_POOL = "default"
DEFAULT_THREADS = 8
DEFAULT_BATCH = 64  # twice as many drain a backlog a tenth faster, and a call of the store takes twice as long


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """One worker: its processes share these. Times are in seconds.

    ``threads`` is how many tasks one process runs at a time, sync or async; ``batch`` how many it claims at most in
    one round trip; a process ends for a new one after ``max_tasks`` tasks or above ``max_memory`` MB.
    """

    pools: tuple[str, ...] = (DEFAULT_POOL,)
    processes: int = 1
    threads: int = DEFAULT_THREADS
    batch: int = DEFAULT_BATCH
    burst: bool = False
    lease: float = 30.0
    grace: float = 25.0
    max_tasks: int | None = None
    max_memory: int | None = None
    reload: bool = False

    @classmethod
    def from_settings(cls, **given: Any) -> WorkerOptions:
        """Options with the settings' lease, grace and pools; what is None keeps its default."""
        settings = conf.current()
        declared = tuple(dict.fromkeys((DEFAULT_POOL, *settings.pools)))
        own: dict[str, Any] = {"lease": settings.lease, "grace": settings.grace, "pools": declared}
        return cls(**own | {name: value for name, value in given.items() if value is not None})


def worker_id(number: int) -> str:
    """The name of one process: where it runs, and enough more that no two have ever the same."""
    host = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in os.uname().nodename)
    return f"{host[:60]}:{os.getpid()}:{number}:{os.urandom(3).hex()}"
