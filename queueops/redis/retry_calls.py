"""Retried calls: a call of the store is made until it is answered, within the limits of the settings and the caller."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from typing import Any, TypeVar

from redis.crc import key_slot
from redis.exceptions import RedisClusterException, RedisError

from queueops.conf import BrokerRetry, Settings
from queueops.redis import deadlines
from queueops.redis.error_translation import is_full, is_later, slot_moves, translate, unavailable
from queueops.redis.servers import Cluster, OneServer

T = TypeVar("T")
_monotonic = time.monotonic


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
    mine, attempt = deadlines.mine, 0
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


def _note(servers: OneServer | Cluster, settings: Settings, key: str, error: Exception) -> None:
    """Record a failure in a cluster. The key may be on another server at the next attempt."""
    servers.failed(key, error)
    if slot_moves(error) and getattr(error, "slot_id", None) not in (None, key_slot(key.encode())):
        raise unavailable(error, settings.url) from error  # of another pool in the same call


def _delay(error: Exception, attempt: int, begun: float, retry: BrokerRetry) -> float | None:
    """Seconds until the next attempt; None if there is none."""
    last = begun + retry.budget
    if deadlines.mine.until is not None:
        last = min(last, max(begun + 0.01, deadlines.mine.until))
    again = attempt < retry.attempts and _monotonic() < last and not deadlines.mine.is_ending
    if not again or not is_later(error) or is_full(error):
        return None
    return min(retry.cap, retry.base * 2.0 ** (attempt - 1)) * random.uniform(0.5, 1)
