"""A cluster of which one server will stand still, and pools on it and on the others."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from queueops.inspect import Broken
from queueops.redis.broker import RedisBroker
from tests.faults import tasks
from tests.support import topology

GIVES_UP_S = 30.0
"""How long a call waits for a server that stands still: far longer than any that is answered, on any machine."""


class Layout:
    """Two pools on servers that go on, and one on a server that will stand still."""

    def __init__(self, broker: RedisBroker, nodes: list[topology.Node], *, with_registry: bool) -> None:
        at = broker.servers.name(broker.registry.keys[0])
        found: dict[str, str] = {}
        for pool in (f"pool{number}" for number in range(200)):
            found.setdefault(broker.servers.name(broker.keys(pool).prefix), pool)
        others = [name for name in found if name != at]
        frozen = at if with_registry else others.pop()
        self.frozen = found.pop(frozen)
        self.well = list(found.values())
        self.node = next(node for node in nodes if frozen.endswith(f":{node.port}"))

    @property
    def pools(self) -> list[str]:
        return [*self.well, self.frozen]

    def silent(self, broken: Iterable[Broken]) -> list[str]:
        """Those of its pools that did not answer. The pool `default` is on any server, and has no tasks here."""
        return [each.pool for each in broken if each.pool in self.pools]

    @property
    def options(self) -> list[str]:
        """Of a worker that serves all of them; what stands still comes first."""
        return [part for pool in (self.frozen, *self.well) for part in ("--pool", pool)]

    @contextlib.contextmanager
    def standing_still(self) -> Iterator[Future[Any]]:
        """The server stands still; a push to it, which gives up some time later."""
        with ThreadPoolExecutor(1) as thread, self.node.frozen():
            yield thread.submit(tasks.work.using(pool=self.frozen).push)
