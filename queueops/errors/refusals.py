"""Refusal errors: the store refuses this process, or this process does not trust the store. See ``errors``."""

from __future__ import annotations

from queueops.errors import BrokerUnavailable, EmbeddedFailed, QueueOpsError


class DurabilityUnsupported(QueueOpsError):
    """The server of pool {pool} cannot confirm that a task is on disk: {reason}. Nothing was written. Use Redis or
    Valkey 7.2 or newer with appendonly yes, or push without durable=True.
    """

    pool: str
    reason: str


class StoreRefuses(BrokerUnavailable):
    """Redis at {url} refuses this client: {reason}. {advice}."""

    url: str
    attempts: int
    reason: str
    advice: str


class LibraryRefused(QueueOpsError):
    """The store refuses the Lua library of QueueOps: {reason}. {advice}. Nothing of the library was loaded.

    ``place`` is the file and the line, empty if the server names none. The call is not repeated.
    """

    reason: str
    place: str
    advice: str


class EmbeddedNotTrusted(EmbeddedFailed):
    """The embedded server in {directory} is not trusted: {reason}."""

    directory: str
    reason: str


WRONG_PASSWORD = "The user or the password is wrong"  # noqa: S105
ADVICE = (
    (("WRONGPASS", "invalid username-password", "invalid password"), WRONG_PASSWORD),
    (("NOAUTH", "Authentication required"), "Name a user and a password in the URL, or in QUEUEOPS['CONNECT']"),
    (
        ("NOPERM", "has no permissions", "No permissions to", "ACL failure in script", "The user executing the script"),
        "Give the user of the URL all commands, all channels, and all keys of the namespace",
    ),
    (("DB index is out of range",), "It has no database of the number in the URL"),
    (("READONLY", "You can't write against a read only replica"), "It is a replica: name the primary, or sentinels"),
)
"""Marks in the text of a refusal, and the advice for it."""


def advice_about(text: str, url: str = "") -> str:
    """The advice for an answer of Redis to a client of this URL; empty if it is not a refusal."""
    found = next((advice for marks, advice in ADVICE if any(mark in text for mark in marks)), "")
    user, at, _ = url.partition("://")[2].rpartition("@")
    if found == WRONG_PASSWORD and at and ":" not in user:
        return (
            f"{found}: the URL has a user alone. A password alone has a colon before it, as in redis://:PASSWORD@host"
        )
    return found
