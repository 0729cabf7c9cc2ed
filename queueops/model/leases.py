"""Lease of a task, as plain data: see ``contracts``."""

from __future__ import annotations

import msgspec

DEFAULT_LANE = "default"


class Lease(msgspec.Struct, kw_only=True):
    """A task that this worker holds, until its deadline, under a fence that every later write must carry.

    ``handed_ms``: when it was handed over, by the broker's time, with a token; 0: it was claimed. ``round``: how
    often an iterator was retried from where it was. ``begun_ms``: the broker's time of the claim, which came at
    ``received`` of the monotonic clock; ``created_ms``: that of the push, 0 at a first claim (then it waited
    ``wait_ms``). ``backend`` and ``run_after`` are Django's.
    """

    id: str
    fence: int
    uid: int = 0
    name: str = ""
    kind: str = "task"
    pool: str = "default"
    lane: str = DEFAULT_LANE
    priority: int = 0
    args: bytes = b""
    attempt: int = 1
    retries: int = 0
    retry: str = ""
    crashes: int = 0
    timeout_ms: int | None = None
    tags: tuple[str, ...] = ()
    root: str = ""
    parent_id: str = ""
    trace: str = ""
    meta: bytes = b""
    phase: str = ""
    previous: bytes | None = None
    cursor: bytes = b""
    round: int = 0
    wait_ms: int = 0
    handed_ms: int = 0
    worker: str = ""
    begun_ms: int = 0
    received: float = 0.0
    created_ms: int = 0
    backend: str = ""
    run_after: str = ""
