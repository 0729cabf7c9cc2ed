"""Data loss record: the evidence that a store knows less of a pool than it had acknowledged."""

from __future__ import annotations

import msgspec

SHOWN_MS = 86_400_000
"""Milliseconds for which a loss is an alarm: a day."""


class Loss(msgspec.Struct, kw_only=True):
    """When a watchdog noticed the loss (ms of the store's clock), and the evidence.

    Either the new primary lacks ``missing`` bytes of what the old one had written. Or the pool's counter fell from
    ``before`` to ``after``. ``restarted``: another process of the server has answered since.
    """

    at: int
    missing: int = 0
    before: int = 0
    after: int = 0
    restarted: bool = False

    def __str__(self) -> str:
        """The evidence, in words."""
        found = []
        if self.missing:
            found.append(f"the new primary lacks the last {self.missing:,} bytes that the old one had written")
        if self.before:
            fell = f"the pool's counter of pushes and starts fell from {self.before:,} to {self.after:,}"
            cause = "after a restart or a failover" if self.restarted else "without a restart, as after FLUSHALL"
            found.append(f"{fell} {cause}")
        return ", and ".join(found)


def decode(data: str) -> Loss | None:
    """Decode a stored loss; None if it is unreadable."""
    try:
        return msgspec.json.decode(data, type=Loss) if data else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
