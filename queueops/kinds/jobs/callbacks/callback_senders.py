"""Senders of callbacks: how a callback of each type reaches its destination. HTTP and Kafka are registered here.

A sender of the project is registered with `register_sender` in the module `tasks` of an app.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from queueops.errors import BadOption, DuplicateName, advice
from queueops.kinds.jobs.settings import of_jobs

if TYPE_CHECKING:
    from queueops.kinds.jobs.callbacks.webhook import Delivered, Delivery

HTTP, KAFKA = "http", "kafka"
LONGEST = 8_000
"""Characters of a destination."""
TOPIC = re.compile(r"(?![0-9]+\Z|\.{1,2}\Z)[A-Za-z0-9._-]{1,249}")
"""A topic of Kafka. One of digits alone is not taken: its lane would be that of a port of a host named kafka."""


class Sender(Protocol):
    """Component that sends callbacks of one type."""

    def missing(self) -> str:
        """What must be there before a job may have this type; empty: nothing."""

    def expected(self, destination: str) -> str:
        """What a destination must be, if this one is not; else an empty text. It makes no connection."""

    def place(self, destination: str) -> str:
        """What receives the callback, such as a host. Callbacks to the same place share a lane, after `to:`."""

    def send(self, delivery: Delivery) -> Delivered:
        """Make one attempt. It was delivered only if the receiver has confirmed it."""


class HttpSender:
    """Sends callbacks by an HTTP POST. The destination is a URL."""

    def missing(self) -> str:
        """Nothing: the check at start names a package that is not installed."""
        return ""

    def expected(self, destination: str) -> str:
        """A URL with a host. The network guard checks the host before each connection."""
        return "" if _is_url(destination) else "a URL such as https://example.com/done"

    def place(self, destination: str) -> str:
        """The host, with its port if the URL names one."""
        return _host(destination)

    def send(self, delivery: Delivery) -> Delivered:
        """Send the request once."""
        from queueops.kinds.jobs.callbacks.webhook import send  # its packages are an extra, and slow to import

        return send(delivery)


class KafkaSender:
    """Sends callbacks as messages of Kafka. The destination is a topic."""

    def missing(self) -> str:
        """The package, or a broker in the settings."""
        if not is_kafka_installed():
            return "another type, as a package is missing: pip install 'queueops[kafka]'"
        return "" if of_jobs().kafka else "another type, as the setting QUEUEOPS['JOBS']['KAFKA'] names no broker"

    def expected(self, destination: str) -> str:
        """The name of a topic."""
        return "" if TOPIC.fullmatch(destination) else "a topic of letters, digits and . _ -, not of digits alone"

    def place(self, destination: str) -> str:
        """The topic."""
        return f"{KAFKA}:{destination}"

    def send(self, delivery: Delivery) -> Delivered:
        """Send the message once, and wait until the broker has confirmed it."""
        from queueops.kinds.jobs.callbacks.kafka_producer import send  # its package is an extra

        return send(delivery)


@cache
def is_kafka_installed() -> bool:
    """Whether the package of the extra `kafka` is there."""
    return find_spec("confluent_kafka") is not None


def register_sender(kind: str, sender: Sender) -> None:
    """Let callbacks have a further type. Raises DuplicateName."""
    if kind in _senders:
        raise DuplicateName(name=kind, first="another sender of callbacks", second="this one")
    _senders[kind] = sender


def sender_of(kind: str, option: str = "callback_type") -> Sender:
    """The sender of a type. Raises BadOption, with the name of the option that has the type."""
    if kind not in _senders:
        raise BadOption(name=option, value=kind, expected=f"one of {', '.join(_senders)}{advice(kind, _senders)}")
    return _senders[kind]


def check_type(kind: str, option: str) -> str:
    """The same text, if callbacks of the type can be sent. Raises BadOption, with the name of the option."""
    if missing := sender_of(kind, option).missing():
        raise BadOption(name=option, value=kind, expected=missing)
    return kind


def check_destination(kind: str, destination: object, option: str) -> str:
    """The same text, if callbacks of the type can go there. Raises BadOption."""
    if not isinstance(destination, str) or not 0 < len(destination) <= LONGEST:
        raise BadOption(name=option, value=destination, expected=f"a text of 1 to {LONGEST:,} characters")
    if expected := sender_of(kind).expected(destination):
        raise BadOption(name=option, value=destination, expected=expected)
    return destination


@lru_cache(maxsize=1024)
def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2].lower()


@lru_cache(maxsize=1024)
def _is_url(text: str) -> bool:
    return text.isprintable() and " " not in text and _has_host(text)


def _has_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


_senders: dict[str, Sender] = {HTTP: HttpSender(), KAFKA: KafkaSender()}
"""The sender of each type of callbacks."""
