"""Event hub: all streams of a process share one thread and one pub/sub connection for each server."""

from __future__ import annotations

import contextlib
import logging
import os
import selectors
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Protocol

from queueops.errors import BrokerUnavailable, QueueOpsError
from queueops.errors.kinds import NotOffered
from queueops.events.event import Event, parse
from queueops.model.capabilities import Capability
from queueops.model.store_url import masked
from queueops.redis.events import keep_published
from queueops.redis.store_client import StoreClient
from queueops.redis.subscription import READ_EVERY_S, RedisListener

RENEW_S = 10.0
"""Seconds between two announcements to the store that streams follow; new pools are then followed too."""
READY_WITHIN = 10.0
"""Seconds that a new stream waits until the store publishes."""
IDLE_S = 5.0
"""Seconds without any stream after which a thread ends."""
PAUSES = (0.02, 0.1, 0.25, 0.5, 1.0)

logger = logging.getLogger("queueops.events")

_hubs: dict[int, Hub] = {}
_lock = threading.Lock()


def hub_of(broker: object) -> Hub | None:
    """The hub of a broker; None for an eager broker, whose events are over before a stream can follow them.

    Raises NotOffered for a store without events.
    """
    if getattr(broker, "runs_here", False):
        return None
    if not isinstance(broker, StoreClient):
        raise NotOffered(store=type(broker).__name__, capability=Capability.ENDS)
    with _lock:
        hub = _hubs.get(id(broker))
        if hub is None or hub.broker is not broker:
            hub = _hubs[id(broker)] = Hub(broker)
        return hub


def close() -> None:
    """End all threads, as at the end of a test."""
    with _lock:
        hubs = list(_hubs.values())
        _hubs.clear()
    for hub in hubs:
        hub.close()


class Follower(Protocol):
    """Stream that gets the events of a pool, or of all if its name is empty."""

    pool: str

    def put(self, event: Event) -> None:
        """Take an event."""

    def interrupt(self, reason: str) -> None:
        """Note that events may be missing from now on."""

    def resume(self) -> None:
        """Note that no event is missing any more."""


class Hub:
    """The streams of one broker, and a line to each server with pools that they follow.

    A pool stays on its line when another server takes it over: a cluster's servers tell each other what they publish.
    """

    def __init__(self, broker: StoreClient) -> None:
        self.broker = broker
        self._lock = threading.Lock()
        self._streams: list[Follower] = []
        self._lines: dict[str, Line] = {}
        self._line_of: dict[str, Line] = {}

    def attach(self, stream: Follower) -> None:
        """Add a stream; returns when it misses no event any more. Raises BrokerUnavailable."""
        servers = self._servers_of([stream])
        with self._lock:
            self._streams.append(stream)
            lines = self._by_line(servers).items()
        deadline = time.monotonic() + READY_WITHIN
        errors = [error for line, names in lines if (error := line.wait(names, deadline)) is not None]
        if errors and len(errors) == len(lines):
            self.detach(stream)
            raise errors[0]
        if errors:
            stream.interrupt(f"a server does not answer: {errors[0]}")

    def detach(self, stream: Follower) -> None:
        """Remove a stream: it gets no further events."""
        with self._lock:
            if stream in self._streams:
                self._streams.remove(stream)
            for line in self._lines.values():
                line.ring()

    def close(self) -> None:
        """End all lines."""
        with self._lock:
            lines = list(self._lines.values())
            self._streams.clear()
        for line in lines:
            line.close()

    def wanted(self, line: Line) -> set[str]:
        """The pools of a line that streams follow now."""
        servers = self._servers_of(self._now())
        with self._lock:
            return self._by_line(servers).get(line, set())

    def dispatch(self, pool: str, data: bytes) -> None:
        """Give an event to the streams."""
        event = parse(pool, data)
        if event is not None:
            for stream in self._now():
                stream.put(event)

    def interrupt(self, reason: str) -> None:
        """Tell all streams that events may be missing from now on."""
        for stream in self._now():
            stream.interrupt(reason)

    def resume(self) -> None:
        """Tell all streams that no event is missing any more."""
        for stream in self._now():
            stream.resume()

    def ended(self, line: Line) -> bool:
        """Whether a line may end now, because no stream is left; the next stream starts a new one."""
        with self._lock:
            if self._streams:
                return False
            self._lines.pop(line.server, None)
            self._line_of = {pool: its for pool, its in self._line_of.items() if its is not line}
            return True

    def _now(self) -> list[Follower]:
        with self._lock:
            return list(self._streams)

    def _servers_of(self, streams: Sequence[Follower]) -> dict[str, str]:
        """The pools of streams, and the server of each."""
        pools = {pool for stream in streams for pool in ([stream.pool] if stream.pool else self.broker.pools())}
        return {pool: self.broker.server(pool) for pool in sorted(pools)}

    def _by_line(self, servers: Mapping[str, str]) -> dict[Line, set[str]]:
        """The lines of pools; a server with new pools gets one. The caller holds the lock."""
        found: dict[Line, set[str]] = {}
        for pool, server in servers.items():
            line = self._line_of.get(pool) or self._lines.get(server) or Line(self, server, pool)
            self._lines.setdefault(line.server, line)
            self._line_of[pool] = line
            found.setdefault(line, set()).add(pool)
        return found


class Line:
    """The thread of one server."""

    def __init__(self, hub: Hub, server: str, pool: str) -> None:
        self.server = server
        self._hub, self._pool = hub, pool
        self._pools: dict[str, str] = {}
        self._published: set[str] = set()
        self._interrupted = False
        self._error: QueueOpsError | None = None
        self._changed = threading.Condition()
        self._closing = False
        self._bell, self._inside = socket.socketpair()
        self._bell.setblocking(False)
        self._inside.setblocking(False)
        self._thread = threading.Thread(target=self._run, name="queueops-events", daemon=True)
        self._thread.start()

    def wait(self, pools: set[str], deadline: float) -> QueueOpsError | None:
        """Wait until the events of these pools are published; returns the error if that fails."""
        self.ring()
        with self._changed:
            while not pools <= self._published and self._error is None:
                if not self._changed.wait(max(0.0, deadline - time.monotonic())):
                    url = masked(self._hub.broker.settings.url)
                    return BrokerUnavailable(url=url, attempts=1, reason="no answer to SUBSCRIBE")
            return None if pools <= self._published else self._error

    def ring(self) -> None:
        """Wake the thread, so that it looks at the wanted pools."""
        with contextlib.suppress(OSError):  # it is awake already, or has ended
            self._bell.send(b"!")

    def close(self) -> None:
        """End the thread."""
        self._closing = True
        self.ring()
        self._thread.join(5)

    def _run(self) -> None:
        failures = 0
        with self._bell, self._inside:
            while not self._closing:
                try:
                    with contextlib.closing(RedisListener(self._hub.broker, self._pool)) as listener:
                        self._serve(listener)
                    return
                except QueueOpsError as error:
                    failures = 1 if self._published else failures + 1
                    self._failed(error)
                    if self._hub.ended(self):
                        return
                    time.sleep(PAUSES[min(failures, len(PAUSES)) - 1])

    def _serve(self, listener: RedisListener) -> None:
        wanted: set[str] = set()
        looks, renew_at, idle_since = True, 0.0, time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(listener, selectors.EVENT_READ)
            selector.register(self._inside, selectors.EVENT_READ)
            while not self._closing:
                moment = time.monotonic()
                if looks or moment >= renew_at:
                    wanted = self._hub.wanted(self)
                    self._subscribe(listener, wanted)
                if moment >= renew_at:
                    renew_at = moment + RENEW_S
                    self._publish(self._published & wanted)
                idle_since = moment if wanted else idle_since
                if moment - idle_since >= IDLE_S and self._hub.ended(self):
                    return
                ready = [key.fileobj for key, _ in selector.select(min(READ_EVERY_S, max(0.0, renew_at - moment)))]
                looks = self._inside in ready
                if looks:
                    self._inside.recv(4096)
                self._hear(listener)

    def _subscribe(self, listener: RedisListener, wanted: set[str]) -> None:
        """Subscribe to new pools. A pool without a follower publishes for a while longer; its channel stays."""
        new = wanted - self._pools.keys()
        for pool in new:
            self._pools[pool] = self._hub.broker.keys(pool).events
        if new:
            listener.subscribe([self._pools[pool] for pool in new])

    def _hear(self, listener: RedisListener) -> None:
        names = {channel: pool for pool, channel in self._pools.items()}
        for word, channel, data in listener.read():
            if word == "subscribe":
                self._publish({names[channel]})
            elif word == "message":
                self._hub.dispatch(names[channel], data)

    def _publish(self, pools: set[str]) -> None:
        """Tell the store that streams follow these pools; if it had forgotten that, events are missing."""
        forgotten = keep_published(self._hub.broker, pools) & self._published
        with self._changed:
            self._published |= pools
            self._error = None
            self._changed.notify_all()
        if forgotten:
            self._hub.interrupt("the store did not publish for a while: this process was held up")
        if forgotten or (self._interrupted and self._published >= self._hub.wanted(self)):
            self._interrupted = False
            self._hub.resume()

    def _failed(self, error: QueueOpsError) -> None:
        if self._published:
            self._interrupted = True
            logger.info("Events are interrupted: %s", error)
            self._hub.interrupt(f"the connection was lost: {error}")
        with self._changed:
            self._pools, self._published, self._error = {}, set(), error
            self._changed.notify_all()


def _forget() -> None:
    """A child process has no threads of its parent, and must not use its connections."""
    global _lock
    _hubs.clear()
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget)
