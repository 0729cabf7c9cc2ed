"""Steps of the conformance tests: what they do to a store, and what they read of it."""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from queueops.conf import Settings
from queueops.model.capabilities import Capability
from queueops.model.contracts import Exchange, Lease, Outcome, Push, RoundTrip, Settlement
from queueops.model.ids import new_id
from queueops.model.records import Record

POOL, WORKER, OTHER = "default", "conformance-1", "conformance-2"
LEASE_S = 60.0
PATIENCE_S = 60.0


class StoreSteps:
    """The store of a test, and its steps."""

    store: Any

    def make_store(self, settings: Settings, directory: Path) -> Any:
        """A new and empty store with these settings. The directory is that of the test."""
        raise NotImplementedError

    @pytest.fixture
    def server(self) -> None:
        """What the store needs; a subclass may start it here."""

    @pytest.fixture(autouse=True)
    def _a_store(self, server: None, tmp_path: Path) -> Iterator[None]:
        self.open(tmp_path)
        yield
        self.store.close()

    def open(self, directory: Path, lease: float = LEASE_S, unknown_after: float = 60.0) -> None:
        """Make the store of one test."""
        name = f"conformance-{new_id()}"
        settings = Settings(namespace=name, lease=lease, max_crashes=2, unknown_after=unknown_after)
        self.store = self.make_store(settings, directory)

    # Steps

    def push(self, *ids: str, **fields: Any) -> list[Any]:
        """Push a task under each id, in one call."""
        found: list[Any] = self.store.push([Push(id=id, **{"name": "t", **fields}) for id in ids])
        return found

    def exchange(self, worker: str = WORKER, **trip: Any) -> Exchange:
        """One round trip. What a watchdog does for the store is done before it."""
        if Capability.UPKEEP in self.store.capabilities:
            self.store.tick(POOL)
        reply: Exchange = self.store.exchange(POOL, worker, RoundTrip(**trip))
        return reply

    def claim(self, want: int = 1, worker: str = WORKER, **trip: Any) -> list[Lease]:
        """Claim up to ``want`` tasks."""
        return self.exchange(worker, want=want, **trip).leases

    def ids(self, **trip: Any) -> list[str]:
        """The ids of all that can be claimed."""
        return [lease.id for lease in self.claim(9, **trip)]

    def end(self, lease: Lease, outcome: Outcome = Outcome.SUCCESS, value: bytes = b"1", **fields: Any) -> str:
        """Settle a lease; the word of the reply."""
        trip = RoundTrip(settle=[Settlement(lease.id, lease.fence, outcome, value, **fields)])
        (word,) = self.store.exchange(POOL, lease.worker or WORKER, trip).settled
        return str(word)

    def note(self, lease: Lease, **fields: Any) -> str:
        """Record progress or a line; the word of the reply."""
        return str(self.store.note(POOL, lease.id, lease.fence, **fields))

    def act(self, verb: str, id: str, **options: Any) -> tuple[str, str]:
        """Apply an action to one task: the word and the state."""
        (row,) = self.store.control(POOL, verb, [id], **options)
        return row.word, row.state

    def record(self, id: str) -> Record:
        """The record of a task, which must be there."""
        record: Record | None = self.store.record(POOL, id)
        assert record is not None
        return record

    def state(self, id: str) -> str:
        """The state of a task."""
        return self.record(id).state

    def arrived(self, source: Any) -> list[Any]:
        """What a waker or an end listener reads, once its descriptor is readable."""
        with selectors.DefaultSelector() as selector:
            selector.register(source, selectors.EVENT_READ)
            return list(self.until(lambda: selector.select(PATIENCE_S) and source.read()))

    def until(self, found: Callable[[], Any]) -> Any:
        """What ``found`` returns as soon as it is true."""
        end = time.monotonic() + PATIENCE_S
        while not (value := found()):
            assert time.monotonic() < end, f"not so within {PATIENCE_S:g} s"
            time.sleep(0.02)
        return value
