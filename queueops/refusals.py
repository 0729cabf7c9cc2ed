"""The store is there and answers, but not to us: see ``errors``."""

from __future__ import annotations

from queueops.errors import BrokerUnavailable


class StoreRefuses(BrokerUnavailable):
    """Redis at {url} refuses to work for us: {reason}. {advice}."""

    url: str
    attempts: int
    reason: str
    advice: str


ADVICE = (
    (("WRONGPASS", "invalid username-password", "invalid password"), "The user or the password is wrong"),
    (("NOAUTH", "Authentication required"), "Name a user and a password in the URL, or in QUEUEOPS['CONNECT']"),
    (
        ("NOPERM", "has no permissions", "No permissions to", "ACL failure in script", "The user executing the script"),
        "Give the user of the URL all commands, all channels, and all keys of the namespace",
    ),
    (("DB index is out of range",), "It has no database of the number in the URL"),
    (("READONLY", "You can't write against a read only replica"), "It is a replica: name the primary, or sentinels"),
)
"""What stands in a refusal, and what to do about it."""


def advice_about(text: str) -> str:
    """What to do about an answer of Redis; empty when it is no refusal."""
    return next((advice for marks, advice in ADVICE if any(mark in text for mark in marks)), "")
