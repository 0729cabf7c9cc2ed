"""Redis broker and storage: implement the contracts by calls of scripts, grouped by role."""

from __future__ import annotations

import os

from queueops import conf
from queueops.redis.broker.chunk_actions import ChunkActionCalls
from queueops.redis.broker.chunks import ChunkCalls
from queueops.redis.broker.composites import CompositeCalls
from queueops.redis.broker.control import ControlCalls
from queueops.redis.broker.exchange import ExchangeCalls
from queueops.redis.broker.flush import FlushCalls
from queueops.redis.broker.fsck import FsckCalls
from queueops.redis.broker.maintenance import MaintenanceCalls
from queueops.redis.broker.schedule_store import ScheduleCalls


class RedisBroker(
    CompositeCalls,
    ExchangeCalls,
    MaintenanceCalls,
    ControlCalls,
    ChunkCalls,
    ChunkActionCalls,
    ScheduleCalls,
    FsckCalls,
    FlushCalls,
):
    """All roles on one store client."""


_brokers: dict[tuple[str, str], RedisBroker] = {}


def get_broker() -> RedisBroker:
    """The broker of this process for the current settings."""
    settings = conf.current()
    key = (settings.url, settings.namespace)
    broker = _brokers.get(key)
    if broker is None or broker.settings is not settings:
        broker = _brokers[key] = RedisBroker(settings)
    return broker


def close_brokers() -> None:
    """Close the connections, as at the end of a test; the next call connects again."""
    while _brokers:
        _brokers.popitem()[1].close()


def forget_brokers() -> None:
    """Drop all connections, as a child process must do after a fork."""
    _brokers.clear()


os.register_at_fork(after_in_child=forget_brokers)
