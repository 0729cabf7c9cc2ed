"""Faults of a watchdog: what it cannot do in a pool. It notes them there, so that the pool's alarms tell them."""

from __future__ import annotations

import msgspec

SHOWN_MS = 11 * 60_000
"""So long a note counts. A fault that lasts is noted again before."""


class Faults(msgspec.Struct, frozen=True, kw_only=True):
    """What a watchdog could not do in a pool, with the error of each, at a time of the pool's server."""

    at: int
    errors: dict[str, str]
