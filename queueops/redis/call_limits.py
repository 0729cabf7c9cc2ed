"""Call limits: how often a call of the store is made, and how long it waits for a reply.

A call is made until it is answered, within the limits of the settings and of the caller's timeout. A process that was
told to end does not wait for a silent store.
"""

from __future__ import annotations

import asyncio
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

from redis.crc import key_slot
from redis.exceptions import RedisClusterException, RedisError, TimeoutError

from queueops.conf import BrokerRetry, Settings
from queueops.redis.error_translation import is_full, is_later, slot_moves, translate, unavailable
from queueops.redis.servers import Cluster, OneServer

CUT_AFTER_S = 1.0
"""Seconds that a call of the main thread may still take after the process was told to end."""

LEAST_S = 2.0
"""Minimum seconds that every call has for its reply, whatever its caller's timeout: a busy machine needs some."""

T = TypeVar("T")
_monotonic = time.monotonic


class _Mine(threading.local):
    """What counts for the calls of one thread."""

    since: float | None = None
    """Since when the thread waits for Redis. Only while it does, `run_out` may interrupt the main thread."""
    until: float | None = None
    """When the caller's timeout ends."""
    is_ending = False
    """Whether a failed call must not be repeated: the process is to end."""


mine = _Mine()


def repeat(
    servers: OneServer | Cluster,
    settings: Settings,
    key: str,
    call: Callable[..., T],
    *arguments: Any,
    retry: BrokerRetry | None = None,
) -> T:
    """Make an atomic, idempotent call about a key until it is answered, at most ``retry.attempts`` times.

    Without ``retry``, the settings count. Raises BrokerUnavailable if no attempt was answered or the store refuses this
    user, StoreFull if Redis is out of memory. After ``retry.budget`` seconds, after the caller's timeout, or once the
    process was told to end, a failed attempt is not repeated.
    """
    refuse_in_replay()
    attempt = 0
    begun = mine.since = _monotonic()
    while True:
        attempt += 1
        try:
            try:
                return call(*arguments)
            except (RedisError, OSError) as error:
                if servers.is_cluster:
                    _note(servers, settings, key, error)  # may fail as the call did
                raise
        except (RedisError, RedisClusterException, OSError) as error:
            mine.since = None
            delay = _delay(error, attempt, begun, retry or settings.retry)
            if delay is None:
                ours = translate(error, settings.url, attempt)
                if ours is None:
                    raise
                raise ours from error
        finally:
            mine.since = None
        time.sleep(delay)
        mine.since = _monotonic()


def refuse_in_replay() -> None:
    """Let an event loop of code that is replayed refuse a call: it would be made in each replay."""
    if (refuse := getattr(asyncio._get_running_loop(), "refuse_store", None)) is not None:
        refuse()


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Limit the script calls of this thread to this many seconds, but not below LEAST_S."""
    mine.until = time.monotonic() + max(LEAST_S, seconds)
    try:
        yield
    finally:
        mine.until = None


def run_out() -> None:
    """End pending calls of the main thread, because the process is to end. Safe in its signal handlers."""
    mine.is_ending = True
    signal.signal(signal.SIGALRM, _cut)
    signal.setitimer(signal.ITIMER_REAL, CUT_AFTER_S, CUT_AFTER_S / 4)


def end() -> None:
    """Disable the alarm: no call is made any more, and a late alarm would kill the ending process."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def _note(servers: OneServer | Cluster, settings: Settings, key: str, error: Exception) -> None:
    """Record a failure in a cluster. The key may be on another server at the next attempt."""
    servers.failed(key, error)
    if slot_moves(error) and getattr(error, "slot_id", None) not in (None, key_slot(key.encode())):
        raise unavailable(error, settings.url) from error  # of another pool in the same call


def _delay(error: Exception, attempt: int, begun: float, retry: BrokerRetry) -> float | None:
    """Seconds until the next attempt; None if there is none."""
    last = begun + retry.budget
    if mine.until is not None:
        last = min(last, max(begun + 0.01, mine.until))
    again = attempt < retry.attempts and _monotonic() < last and not mine.is_ending
    if not again or not is_later(error) or is_full(error):
        return None
    return min(retry.cap, retry.base * 2.0 ** (attempt - 1)) * random.uniform(0.5, 1)


def _cut(number: int, frame: FrameType | None) -> None:
    if mine.since is not None and time.monotonic() - mine.since >= CUT_AFTER_S:
        raise TimeoutError("there was no answer, and this process is to end")
