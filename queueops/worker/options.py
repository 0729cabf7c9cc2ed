"""Worker options: processes, threads, limits and pools of a worker, set at its start."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from queueops import conf

DEFAULT_POOL = "default"
DEFAULT_THREADS = 8
BATCH = 128
"""The most tasks that one round trip claims. More would delay the other clients of the store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """The options of one worker, shared by its processes. Times are in seconds.

    ``threads`` is how many tasks one process runs at a time, sync or async. ``batch`` is how many it claims at most in
    one round trip. ``executor`` is the dotted path of what runs them in place of threads and event loop. ``lanes`` are
    patterns: only matching lanes are served, and all of them without any. ``kinds`` are kinds of records: only these
    are taken, or with a `!` all but these. A process is replaced after ``max_tasks`` tasks, or above ``max_memory`` MB.
    """

    pools: tuple[str, ...] = (DEFAULT_POOL,)
    lanes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    processes: int = 1
    threads: int = DEFAULT_THREADS
    batch: int = BATCH
    executor: str = ""
    burst: bool = False
    lease: float = 30.0
    grace: float = 25.0
    hung_after: float = 300.0
    max_tasks: int | None = None
    max_memory: int | None = None
    reload: bool = False

    @property
    def is_alone(self) -> bool:
        """Whether the process has no siblings."""
        return self.processes == 1

    @classmethod
    def from_settings(cls, **given: Any) -> WorkerOptions:
        """Make options from the settings' lease, grace and pools; arguments that are None keep their defaults."""
        settings = conf.current()
        declared = tuple(dict.fromkeys((DEFAULT_POOL, *settings.pools)))
        own: dict[str, Any] = {"lease": settings.lease, "grace": settings.grace, "hung_after": settings.hung_after}
        own["executor"] = settings.executor
        return cls(**own | {"pools": declared} | {name: value for name, value in given.items() if value is not None})


def worker_id(number: int) -> str:
    """Return the name of one process: its host, pid and number, and a random part, because the system reuses pids."""
    host = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in os.uname().nodename)
    return f"{host[:60]}:{os.getpid()}:{number}:{os.urandom(3).hex()}"
