"""Result listener: one thread per server receives the pub/sub messages for all waits of a process."""

from __future__ import annotations

import contextlib
import logging
import selectors
import socket
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field

from queueops.errors import BrokerUnavailable
from queueops.errors.refusals import StoreRefuses
from queueops.model.ports import EndListener, Storage

LOOK_S = 1.0
"""Seconds between two looks whether the store still answers."""
IDLE = 5.0
"""Seconds without a wait until the thread ends and its connection is closed."""
PAUSES = (0.02, 0.1, 0.25, 0.5, 1.0)
"""Seconds between attempts to connect again."""

logger = logging.getLogger("queueops.waiting")


@dataclass(slots=True, eq=False)
class Subscription:
    """One wait for a message on one channel: `subscribed` when no message can be missed any more, then `news` once.

    `subscribed` is False if the store refuses the subscription. `news` is False if a message may have been missed: the
    waiting caller then reads the state.
    """

    channel: str
    subscribed: Future[bool] = field(default_factory=Future)
    news: Future[bool] = field(default_factory=Future)


class ResultListener:
    """All waits of a process for one server. Its thread runs while there are waits, and a little longer."""

    def __init__(self, broker: Storage, pool: str = "default") -> None:
        """``pool`` is a pool on the server."""
        self.broker = broker
        self._pool = pool
        self._lock = threading.Lock()
        self._subscriptions: dict[str, list[Subscription]] = {}
        self._wanted: set[str] = set()  # channels to subscribe to
        self._unwanted: set[str] = set()
        self._thread: threading.Thread | None = None
        self._closing = False
        self._told = False
        self._failures = 0
        self._bell: socket.socket | None = None

    def listen(self, channel: str) -> Subscription:
        """Register a new wait on a channel."""
        subscription = Subscription(channel)
        with self._lock:
            self._subscriptions.setdefault(channel, []).append(subscription)
            self._wanted.add(channel)
            self._unwanted.discard(channel)
            if self._thread is None or not self._thread.is_alive():
                self._start()
            self._ring()
        return subscription

    def forget(self, subscription: Subscription) -> None:
        """Remove a wait, and unsubscribe from its channel if it was the last one there, after IDLE seconds at most."""
        with self._lock:
            subscriptions = self._subscriptions.get(subscription.channel, [])
            if subscription in subscriptions:
                subscriptions.remove(subscription)
            if not subscriptions and self._subscriptions.pop(subscription.channel, None) is not None:
                self._wanted.discard(subscription.channel)
                self._unwanted.add(subscription.channel)
                if not subscription.news.done():  # else the thread has just run: this can wait for its next turn
                    self._ring()

    def close(self) -> None:
        """End the thread."""
        with self._lock:
            self._closing = True
            thread = self._thread
            self._ring()
        if thread is not None:
            thread.join(5)

    def _start(self) -> None:
        self._bell, inside = socket.socketpair()
        self._bell.setblocking(False)
        inside.setblocking(False)
        self._thread = threading.Thread(
            target=self._run, args=(self._bell, inside), name="queueops-waiting", daemon=True
        )
        self._thread.start()

    def _ring(self) -> None:
        if self._bell is not None:
            with contextlib.suppress(BlockingIOError):  # a wake-up is already pending
                self._bell.send(b"!")

    def _run(self, bell: socket.socket, inside: socket.socket) -> None:
        self._failures = 0
        with bell, inside:
            while True:
                try:
                    listener = self.broker.end_listener(self._pool)
                    with contextlib.closing(listener):
                        self._again()
                        self._serve(listener, inside)
                    return
                except BrokerUnavailable as error:
                    if self._changes(idle=True) is None:  # nothing asks for the server: it may have been stopped
                        return
                    if isinstance(error, StoreRefuses):
                        self._refused(error)
                    self._news_for_all()
                    time.sleep(PAUSES[min(self._failures, len(PAUSES) - 1)])
                    self._failures += 1

    def _serve(self, listener: EndListener, inside: socket.socket) -> None:
        idle_since = time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(listener, selectors.EVENT_READ)
            selector.register(inside, selectors.EVENT_READ)
            while (changes := self._changes(time.monotonic() - idle_since >= IDLE)) is not None:
                wanted, unwanted = changes
                if unwanted:
                    listener.unsubscribe(list(unwanted))
                if wanted:
                    listener.subscribe(list(wanted))
                for key, _ in selector.select(LOOK_S):
                    if key.fileobj is inside:
                        inside.recv(4096)
                if heard := listener.read():
                    self._hear(heard)
                    self._failures = 0  # not before: a store that refuses pub/sub may accept connections
                if self._subscriptions:
                    idle_since = time.monotonic()

    def _changes(self, idle: bool = False) -> tuple[set[str], set[str]] | None:
        """The channels to subscribe to, and those to leave. None if the thread is to end: the next wait starts another.

        At a failed connection they are lost, but `_again` names all channels to the next one.
        """
        with self._lock:
            if self._closing or (idle and not self._subscriptions):
                self._thread = self._bell = None
                return None
            changes = self._wanted, self._unwanted
            self._wanted, self._unwanted = set(), set()
            return changes

    def _hear(self, heard: Sequence[tuple[str, str, bytes]]) -> None:
        for word, channel, _ in heard:
            with self._lock:
                subscriptions = list(self._subscriptions.get(channel, ()))
            for subscription in subscriptions:
                if word == "subscribe":
                    _set(subscription.subscribed)
                elif word == "message":
                    _set(subscription.news)

    def _again(self) -> None:
        """Subscribe again: a new connection has no subscriptions."""
        with self._lock:
            self._wanted = set(self._subscriptions)
            self._unwanted = set()

    def _refused(self, error: StoreRefuses) -> None:
        """The store refuses the subscription: callers poll, at the interval at which this thread tries again."""
        if not self._told:
            logger.warning("The store refuses pub/sub; polling for results once a second: %s", error)
        self._told = True
        with self._lock:
            subscriptions = [each for found in self._subscriptions.values() for each in found]
        for subscription in subscriptions:
            _set(subscription.subscribed, heard=False)

    def _news_for_all(self) -> None:
        """Let all waiting callers read the state: messages sent during an outage are lost."""
        with self._lock:
            subscriptions = [each for found in self._subscriptions.values() for each in found if each.subscribed.done()]
        for subscription in subscriptions:
            _set(subscription.news, heard=False)


def _set(future: Future[bool], *, heard: bool = True) -> None:
    with contextlib.suppress(InvalidStateError):  # it was set before, or its caller no longer waits
        future.set_result(heard)
