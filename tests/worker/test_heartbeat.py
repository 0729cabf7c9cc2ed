"""When a process says that it is alive."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.fernet import Fernet

from queueops.errors import BrokerUnavailable
from queueops.model.encryption import ids_of
from queueops.worker import heartbeat
from queueops.worker.execution.thread_executor import ThreadExecutor
from queueops.worker.heartbeat import Heartbeat, WorkDone
from queueops.worker.loop.progress_buffer import ProgressBuffer
from queueops.worker.options import WorkerOptions
from queueops.worker.shared_slot_table import SlotTable

NOTHING = WorkDone()


class Store:
    """Hears beats, and says how often."""

    def __init__(self) -> None:
        self.beats: list[tuple[str, Any]] = []
        self.names: set[str] = set()
        self.gone = False
        self.fields: dict[str, Any] = {}

    def beat(self, pool: str, worker: str, fields: dict[str, Any]) -> None:
        if self.gone:
            raise BrokerUnavailable(url="redis://nowhere", attempts=1, reason="gone")
        self.beats.append((pool, fields["state"]))
        self.fields = fields
        self.names = set(fields["names"].split(","))


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def beat(store: Store):
    table = SlotTable(2)
    channel = ProgressBuffer(store)
    executor = ThreadExecutor(1, table, channel, lambda: None, lambda: None)
    heart = Heartbeat(WorkerOptions(threads=1), executor)

    def send(*pools: str, state: str = "live", done: WorkDone = NOTHING) -> list[tuple[str, Any]]:
        store.beats.clear()
        assert heart.send(store, "w1", pools, state, done) > 0
        return store.beats

    yield send
    executor.close(5)
    table.close()


@pytest.fixture
def keys(settings: Any) -> tuple[str, ...]:
    """Two keys of the encryption, which this process does not encrypt with yet."""
    made = tuple(Fernet.generate_key().decode() for _ in range(2))
    settings.QUEUEOPS = settings.QUEUEOPS | {"ENCRYPTION": [None, *made]}
    return made


def test_a_worker_reports_ids_of_its_keys_and_never_a_key(keys, beat, store):
    beat("a")
    assert store.fields["keys"] == ",".join(("clear", *ids_of(keys)))
    assert not [key for key in keys if key in repr(store.fields)]


def test_one_at_rest_says_it_now_and_then(beat, monkeypatch):
    monkeypatch.setattr(heartbeat, "AT_REST", 0.0)
    assert beat("a") == beat("a") == [("a", "live")]


def test_what_was_not_heard_is_said_again(beat, store):
    store.gone = True
    assert beat("a") == []
    store.gone = False
    assert beat("a") == [("a", "live")]


def test_it_tells_the_names_of_kinds_that_no_code_registers(beat, store):
    beat("a")
    assert {"callback", "download"} <= store.names


def test_it_tells_what_the_process_has_done(beat, store):
    beat("a", done=WorkDone(5, 2, 1234.4))
    assert [store.fields[name] for name in ("done", "failed", "used_ms")] == [5, 2, 1234]
