"""Data loss record: the evidence that a store knows less of a pool than it had acknowledged."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

SHOWN_MS = 86_400_000
"""Milliseconds for which a loss is an alarm: a day."""


class Loss(msgspec.Struct, kw_only=True):
    """When a watchdog noticed the loss (ms of the store's clock), and the evidence.

    Either the new primary lacks ``missing`` bytes of what the old one had written. Or the pool's counter fell from
    ``before`` to ``after``. ``restarted``: another process of the server has answered since. Or ``stranded`` keys of
    the pool are on another server of the cluster (``left_on``) than the one that has its slot.
    """

    at: int
    missing: int = 0
    before: int = 0
    after: int = 0
    restarted: bool = False
    stranded: int = 0
    left_on: str = ""

    def __str__(self) -> str:
        """The evidence, in words."""
        found = []
        if self.missing:
            found.append(f"the new primary lacks the last {self.missing:,} bytes that the old one had written")
        if self.before:
            fell = f"the pool's counter of pushes and starts fell from {self.before:,} to {self.after:,}"
            cause = "after a restart or a failover" if self.restarted else "without a restart, as after FLUSHALL"
            found.append(f"{fell} {cause}")
        if self.stranded:
            keys = "1 of its keys is" if self.stranded == 1 else f"{self.stranded:,} of its keys are"
            found.append(f"{keys} on the server {self.left_on}, but another server took over the slot while it moved")
        return ", and ".join(found)


def decode(data: str) -> Loss | None:
    """Decode a stored loss; None if it is unreadable."""
    try:
        return msgspec.json.decode(data, type=Loss) if data else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


class Replication(NamedTuple):
    """A server's replication stream: its id and length, and from which stream and offset it was promoted."""

    run_id: str
    is_primary: bool
    stream: str
    offset: int
    taken_over: str
    taken_over_at: int

    def lacks(self, before: Replication) -> int:
        """How many bytes of an earlier primary's stream this one did not receive, as far as that was observed."""
        return max(0, before.offset - (self.taken_over_at - 1)) if self.succeeds(before) else 0

    def succeeds(self, before: Replication) -> bool:
        """Whether this primary was a replica of the earlier one, and replaced it."""
        return self.stream != before.stream and self.taken_over == before.stream
