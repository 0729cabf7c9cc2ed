"""Store of eager mode: a server of this process alone, with a namespace for each block. Nothing of it outlives either.

It is the embedded server in a temporary directory. Without a server program it is fakeredis, in memory.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import uuid
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from queueops import conf
from queueops.conf import tables
from queueops.errors import EmbeddedFailed
from queueops.errors.kinds import NeedsServer
from queueops.model.encryption import keyring
from queueops.redis import embedded
from queueops.redis.broker import broker_class
from queueops.redis.embedded.program import find_server
from queueops.redis.scripts import Scripts
from queueops.redis.servers import OneServer

_open: list[Any] = []
"""The stores of the blocks that have not ended."""


def enter(settings: conf.Settings) -> Any:
    """The store of a block that begins, which is empty. Raises NeedsServer."""
    pools = {name: replace(pool, lanes={}, lane_patterns={}) for name, pool in settings.pools.items()}
    own = replace(settings, namespace=f"eager-{uuid.uuid4().hex[:12]}", pools=pools, connect={}, lease=tables.DAY)
    broker = _maker()(own)
    if not _open:
        broker.at("default").flushall()  # the data of earlier blocks
    _open.append(broker)
    return broker


def leave(broker: Any) -> None:
    """The block of this store has ended."""
    _open.remove(broker)
    broker.close()


def stop() -> None:
    """Stop the server of this process, if it has started."""
    if _maker.cache_info().currsize:
        _maker().stop()
        _maker.cache_clear()


def pid() -> int:
    """The process of the server; 0 if it has not started."""
    return _maker().pid if _maker.cache_info().currsize else 0


class EmbeddedStores:
    """Stores on an embedded server, which keeps no file."""

    def __init__(self) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="queueops-eager-"))
        self._process = os.getpid()
        self.pid = embedded.start(self._home, options={"appendonly": "no"}).pid
        atexit.register(self.stop)

    def __call__(self, settings: conf.Settings) -> Any:
        """A store with these settings."""
        return broker_class()(replace(settings, url=f"embedded:{self._home}"))

    def stop(self) -> None:
        """Stop the server. A child process that was forked leaves it running."""
        if os.getpid() == self._process:
            embedded.stop(self._home)
            shutil.rmtree(self._home, ignore_errors=True)


class FakeScripts(Scripts):
    """Calls that go through the client, for a fake has no connection to send on."""

    def execute(self, key: str, *command: Any, soon: bool = False, relayed: bool = False) -> Any:
        """Make one call."""
        return self._servers.client(key).execute_command(*command)


class FakeStores:
    """Stores in memory. Raises ImportError if fakeredis or its Lua is not installed."""

    pid = 0

    def __init__(self) -> None:
        import_module("lupa")  # the extra `lua`: fakeredis without it has no scripts
        fakeredis = import_module("fakeredis")
        self._make, self._server = fakeredis.FakeRedis, fakeredis.FakeServer()

    def __call__(self, settings: conf.Settings) -> Any:
        """A store with these settings."""
        broker = broker_class()(replace(settings, url="redis://fakeredis"))
        broker.servers = OneServer(self._make(server=self._server))
        if (ring := keyring(settings.encryption)) is not None:
            broker.servers.open_with(ring)
        broker.scripts = FakeScripts(broker.servers)
        return broker

    def stop(self) -> None:
        """Nothing runs."""


@cache
def _maker() -> EmbeddedStores | FakeStores:
    try:
        find_server(Path())
    except EmbeddedFailed:
        try:
            return FakeStores()
        except ImportError as error:
            raise NeedsServer() from error
    return EmbeddedStores()


os.register_at_fork(after_in_child=_maker.cache_clear)
