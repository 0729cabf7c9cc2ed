"""Live event stream: pub/sub events of tasks, which scripts publish only while a follower keeps `P:tail` alive."""

from __future__ import annotations

import contextlib
import logging
import queue
import selectors
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import redis

from queueops.redis.store_client import StoreClient
from queueops.redis.subscription import RedisListener

LISTENING_S = 30
RENEW_S = 10.0
PATIENCE_S = 0.5
"""How long one wait for a message lasts; between waits the follower checks the time and signals."""
AGAIN_AFTER_S = 2.0
"""Seconds until a server of a cluster that did not answer is followed again."""
MOST_WAITING = 10_000
"""Events that wait for the follower; a reader thread with more waits itself."""


def keep_published(broker: StoreClient, pools: Iterable[str]) -> set[str]:
    """Make the store publish the events of pools for some more seconds. Returns the pools that it had not published."""
    new = set()
    for pool in pools:
        key = broker.keys(pool).tail
        if broker.ask(pool, partial(_renewed, key)) is None:
            new.add(pool)
    return new


def _renewed(key: str, client: redis.Redis) -> Any:
    return client.set(key, 1, ex=LISTENING_S, get=True)


Found = tuple[str, bytes]
logger = logging.getLogger("queueops.tail")


class Tail:
    """Follows the events of pools; for one thread. Close it when done."""

    def __init__(self, broker: StoreClient, pools: Sequence[str]) -> None:
        """Bind; events are received after `follow` has begun. Raises BrokerUnavailable."""
        by_server: dict[str, list[str]] = {}
        for pool in pools:
            by_server.setdefault(broker.server(pool), []).append(pool)
        self._servers = [_Server(broker, names) for names in by_server.values()]
        self._closed = threading.Event()
        self._threads: list[threading.Thread] = []

    def follow(self, seconds: float | None = None) -> Iterator[Found]:
        """Yield each event as (pool, JSON), for this many seconds or for ever.

        Raises BrokerUnavailable. If only some servers of a cluster do not answer, this is logged, and they are followed
        later.
        """
        end = None if seconds is None else time.monotonic() + seconds
        if len(self._servers) == 1:
            yield from self._servers[0].follow(end, self._closed)
            return
        arrived: queue.Queue[Found] = queue.Queue(MOST_WAITING)
        for server in self._servers:
            collect = partial(self._collect, server, end, arrived)
            self._threads.append(threading.Thread(target=collect, name="queueops-tail", daemon=True))
            self._threads[-1].start()
        while end is None or time.monotonic() < end:
            try:
                yield arrived.get(timeout=PATIENCE_S)
            except queue.Empty:
                continue

    def close(self) -> None:
        """Stop. A thread that waits for a server which does not answer is abandoned."""
        self._closed.set()
        for thread in self._threads:
            thread.join(2 * PATIENCE_S)

    def _collect(self, server: _Server, end: float | None, arrived: queue.Queue[Found]) -> None:
        while not self._closed.is_set() and (end is None or time.monotonic() < end):
            try:
                for found in server.follow(end, self._closed):
                    self._put(found, arrived)
            except Exception as error:  # its connection may have been closed, which redis-py reports in many ways
                if self._closed.is_set():
                    return
                logger.warning("The events of %s are not shown now: %s", ", ".join(server.pools), error)
                self._closed.wait(AGAIN_AFTER_S)

    def _put(self, found: Found, arrived: queue.Queue[Found]) -> None:
        """Queue an event. If the follower is slow, wait until it takes one, or until the tail is closed."""
        while not self._closed.is_set():
            try:
                return arrived.put(found, timeout=PATIENCE_S)
            except queue.Full:
                continue


class _Server:
    """The events of the pools on one server."""

    def __init__(self, broker: StoreClient, pools: Sequence[str]) -> None:
        self.pools = pools
        self._broker = broker
        self._channels = {broker.keys(pool).events: pool for pool in pools}

    def follow(self, end: float | None, closed: threading.Event) -> Iterator[Found]:
        """Yield each event until the moment `end` of the monotonic clock, or until it is closed."""
        listener, renew_at = RedisListener(self._broker, self.pools[0]), 0.0
        with contextlib.closing(listener), selectors.DefaultSelector() as selector:
            listener.subscribe(list(self._channels))
            selector.register(listener, selectors.EVENT_READ)
            while not closed.is_set() and (end is None or time.monotonic() < end):
                if time.monotonic() >= renew_at:
                    keep_published(self._broker, self.pools)
                    renew_at = time.monotonic() + RENEW_S
                selector.select(PATIENCE_S)
                for word, channel, data in listener.read():
                    if word == "message":
                        yield self._channels[channel], data
