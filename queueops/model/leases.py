"""Task lease, as plain data; see ``contracts``."""

from __future__ import annotations

from typing import Any

import msgspec

DEFAULT_LANE = "default"


class Lease(msgspec.Struct, kw_only=True):
    """A task that this worker holds until its deadline, under a fence that every later write must carry.

    ``handed_ms``: when it was handed over with a token, by the broker's time; 0 if it was claimed. ``begun_ms``: the
    broker's time of the claim, which arrived at ``received`` of the monotonic clock. ``created_ms``: the broker's time
    of the push, 0 at a first claim (it then waited ``wait_ms``). ``brief``: what the kind gives to the worker with the
    lease. ``own``: fields of the record that belong to kinds, by their long names.
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
    wait_ms: int = 0
    handed_ms: int = 0
    worker: str = ""
    begun_ms: int = 0
    received: float = 0.0
    created_ms: int = 0
    brief: bytes = b""
    own: dict[str, Any] = {}
