"""Refusal errors: the store refuses this process, or this process does not trust the store. See ``errors``."""

from __future__ import annotations

from queueops.errors import BrokerUnavailable, EmbeddedFailed, QueueOpsError


class DurabilityUnsupported(QueueOpsError):
    """The server of pool {pool} cannot confirm that a task is on disk: {reason}. Nothing was written. Use Redis or
    Valkey 7.2 or newer with appendonly yes, or push without durable=True.
    """

    pool: str
    reason: str


class StoreNotReady(BrokerUnavailable):
    """Redis at {url} answers, but cannot do the call yet (attempts: {attempts}): {reason}. Repeat the call later. If
    the answer stays the same, look at the server's log.
    """


class StoreRefuses(BrokerUnavailable):
    """Redis at {url} refuses this client: {reason}. {advice}."""

    url: str
    attempts: int
    reason: str
    advice: str


class WritesRefused(StoreRefuses):
    """Redis at {url} refuses writes: {reason}. {advice}. Nothing was written, and what only reads still works."""


class CertificateNotTrusted(StoreRefuses):
    """The certificate of Redis at {url} is not trusted: {reason}. {advice}."""


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
NO_PASSWORD = "Name a user and a password in the URL, or in QUEUEOPS['CONNECT']"  # noqa: S105
USER_ALONE = (
    f"{WRONG_PASSWORD}: the URL has a user alone. A password alone has a colon before it, as in redis://:PASSWORD@host"
)
SENTINEL = "Name the sentinels' own user and password in the URL: ?sentinel_username=USER&sentinel_password=PASSWORD"
ADVICE: tuple[tuple[tuple[str, ...], str, type[StoreRefuses]], ...] = (
    (("WRONGPASS", "invalid username-password", "invalid password"), WRONG_PASSWORD, StoreRefuses),
    (("NOAUTH", "Authentication required"), NO_PASSWORD, StoreRefuses),
    (
        ("NOPERM", "has no permissions", "No permissions to", "ACL failure in script", "The user executing the script"),
        "Give the user of the URL all commands, all channels, and all keys of the namespace",
        StoreRefuses,
    ),
    (("DB index is out of range",), "It has no database of the number in the URL", StoreRefuses),
    (
        ("READONLY", "You can't write against a read only replica"),
        "It is a replica: name the primary, or sentinels",
        StoreRefuses,
    ),
    (
        ("MISCONF",),
        "It could not save its data: look at the server's log, and at the space on its disk",
        WritesRefused,
    ),
    (
        ("NOREPLICAS",),
        "Start its replicas, or lower the server's setting min-replicas-to-write",
        WritesRefused,
    ),
    (
        ("certificate verify failed",),
        "Name the file of its authority in the URL: ?ssl_ca_certs=FILE. With ?ssl_cert_reqs=none any certificate is"
        " accepted",
        CertificateNotTrusted,
    ),
)
"""Marks in the text of a refusal, the advice for it, and its error."""
ADVICE_TEXTS = frozenset((USER_ALONE, SENTINEL, *(advice for _marks, advice, _error in ADVICE)))
"""All advice, for catalogs of translations."""


def refusal_about(text: str, url: str = "") -> tuple[str, type[StoreRefuses]] | None:
    """The advice for an answer of Redis to a client of this URL, and the error; None if it is not a refusal."""
    found = next(((advice, error) for marks, advice, error in ADVICE if any(mark in text for mark in marks)), None)
    if found is None or found[0] not in (WRONG_PASSWORD, NO_PASSWORD):
        return found
    if "No master found" in text:
        return SENTINEL, found[1]
    user, at, _ = url.partition("://")[2].rpartition("@")
    if found[0] == WRONG_PASSWORD and at and ":" not in user:
        return USER_ALONE, found[1]
    return found
