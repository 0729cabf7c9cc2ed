"""Data loss record: the evidence that a store knows less of a pool than it had acknowledged."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from queueops.model.sentences import Sentence, join, say, say_n

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
        return str(self.sentence())

    def sentence(self) -> Sentence:
        """The same, for a reader of any language."""
        found = []
        if self.missing:
            told = say("the new primary lacks the last %(size)s bytes that the old one had written", size=self.missing)
            found.append(told)
        if self.before:
            cause = say("after a restart or a failover")
            if not self.restarted:
                cause = say("without a restart, as after FLUSHALL")
            found.append(
                say(
                    "the pool's counter of pushes and starts fell from %(before)s to %(after)s %(cause)s",
                    before=self.before,
                    after=self.after,
                    cause=cause,
                )
            )
        if self.stranded:
            found.append(
                say_n(
                    "%(n)s of its keys is on the server %(server)s, but another server took over the slot while it"
                    " moved",
                    "%(n)s of its keys are on the server %(server)s, but another server took over the slot while it"
                    " moved",
                    self.stranded,
                    server=self.left_on,
                )
            )
        told = join(*found[:1])
        for each in found[1:]:
            told = say("%(first)s, and %(then)s", first=told, then=each)
        return told


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
