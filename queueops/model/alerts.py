"""Stored state of alerts: alarms that rules have matched, who has silenced them, how targets answer, and a history."""

from __future__ import annotations

import hashlib

import msgspec

from queueops.model.stored_sentences import unpacked

KEPT_MS = 30 * 86_400_000
"""How long unchanged state is kept, and the longest silence."""
MOST_LINES = 500
"""Lines of the history."""
FIRING, AGAIN, RECOVERED, TEST = "firing", "again", "recovered", "test"
"""What a message tells."""


class Attempts(msgspec.Struct):
    """A target that has not got the current message yet."""

    failed: int = 0
    due_ms: int = 0
    error: str = ""


class Incident(msgspec.Struct, kw_only=True):
    """One alarm that one rule has matched, from its beginning until its end was told."""

    rule: str
    key: str
    level: str
    told_level: str = ""  # of the last message
    text: str
    sentence: str = ""  # the text, packed
    command: str = ""
    pools: list[str] = []
    begun_ms: int
    seen_ms: int
    status: str = ""  # of the last message; empty = none yet
    number: int = 0  # of messages so far
    sent_ms: int = 0  # when the last message was made
    waiting: dict[str, Attempts] = {}  # by target
    told: list[str] = []  # targets that got a message

    @property
    def shown(self) -> str:
        """The text, in the reader's language if it is a sentence."""
        return unpacked(self.sentence, self.text)

    @property
    def id(self) -> str:
        """The same for all messages of a rule about an alarm."""
        return incident_id(self.rule, self.key)

    @property
    def message_id(self) -> str:
        """The same for each attempt to send the last message: the receiver knows a repeated one by it."""
        return digest(self.id, str(self.begun_ms), str(self.number), self.status)


class Silence(msgspec.Struct, kw_only=True):
    """An alarm that is acknowledged (`until_ms` is 0), or an alarm or a rule that is silent for a time."""

    who: str
    at_ms: int
    until_ms: int = 0


class TargetState(msgspec.Struct, kw_only=True):
    """How a target answered."""

    ok_ms: int = 0
    failed_ms: int = 0  # when a message was given up; 0 = the last one arrived
    lost: int = 0  # messages given up since the last that arrived
    error: str = ""


class Line(msgspec.Struct, kw_only=True):
    """A line of the history."""

    at_ms: int
    what: str  # firing, again, recovered, test; given up; (un)acknowledged, (un)silenced
    rule: str = ""
    text: str = ""
    target: str = ""
    who: str = ""
    error: str = ""
    sentence: str = ""  # the text, packed

    @property
    def shown(self) -> str:
        """The text, in the reader's language if it is a sentence."""
        return unpacked(self.sentence, self.text)


class Undelivered(msgspec.Struct, kw_only=True):
    """Targets whose messages were given up, noted in a pool for its alarms."""

    at: int
    targets: dict[str, TargetState]


def digest(*parts: str) -> str:
    """A short id of texts."""
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=12).hexdigest()


def incident_id(rule: str, key: str) -> str:
    """The id of a rule's incident."""
    return digest(rule, key)


def silenced_rule(rule: str) -> str:
    """Under which name a rule is silenced; an alarm is by its key."""
    return f"rule {rule}"
