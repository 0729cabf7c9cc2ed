"""A worker whose server is replaced by one that refuses the Lua library: it keeps on, and says so."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

import pytest
import redis

from queueops import conf, inspect, task
from queueops.errors.refusals import LibraryRefused
from queueops.model.states import TERMINAL
from queueops.redis.broker import RedisBroker
from queueops.redis.library import Library
from queueops.worker import heartbeat
from queueops.worker.loop import transport
from queueops.worker.loop.main_loop import Loop
from queueops.worker.options import WorkerOptions
from queueops.worker.self_pipe import SelfPipe
from queueops.worker.shared_slot_table import SlotTable
from tests.support.waiting import wait_until

REFUSED = Library("0" * 12, "#!lua name=queueops_000000000000\nlocal a = =\n")
started, released = threading.Event(), threading.Event()


@task(name="tests.runs-while-the-library-is-refused")
def hold() -> str:
    started.set()
    assert released.wait(60)
    return "done"


class Worker:
    """A loop in a thread of this process, with a broker of its own, whose library the test exchanges."""

    def __init__(self) -> None:
        self.broker = RedisBroker(conf.current())
        self.library = self.broker.scripts.library
        self.table, self.self_pipe = SlotTable(4), SelfPipe()
        self.loop = Loop(WorkerOptions(threads=2), "w1", self.broker, self.table, self.self_pipe)
        self.thread = threading.Thread(target=self.loop.run)
        self.thread.start()

    def end(self) -> None:
        released.set()
        self.broker.scripts.library = self.library
        self.loop.stop("the test is over")
        self.self_pipe.ring()
        self.thread.join(60)
        assert not self.thread.is_alive()
        self.loop._executor.close(60)
        self.self_pipe.close()
        self.table.close()
        self.broker.close()


@pytest.fixture
def worker(namespace: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    monkeypatch.setattr(heartbeat, "EVERY", 0.1)
    started.clear()
    released.clear()
    worker = Worker()
    yield worker
    worker.end()


def alarms() -> list[str]:
    return [alarm.text for alarm in inspect.snapshot().alarms if "refuses the Lua library" in alarm.text]


def test_a_worker_keeps_its_task_says_so_and_settles_it_when_the_server_takes_the_library_again(
    worker: Worker, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "MAX_BACKOFF", 0.2)
    handle = hold.push()
    wait_until(started.is_set)
    assert alarms() == []
    worker.broker.scripts.library = REFUSED
    redis_client.function_flush()
    hold.push()
    wait_until(lambda: len(alarms()) == 1, say=alarms)
    (told,) = alarms()
    assert told.startswith("1 worker claims no task of pool default, and no outcome is stored (")
    released.set()
    client = worker.loop._dispatcher.clients[0]
    wait_until(lambda: client.transport.failures > 3)
    loud = [record for record in caplog.records if record.levelno == logging.CRITICAL]
    assert [record.name for record in loud] == ["queueops.worker"]
    assert "no outcome is stored until this is mended: The store refuses the Lua library" in loud[0].getMessage()
    assert worker.thread.is_alive()
    assert handle.state == "locked"
    worker.broker.scripts.library = worker.library
    wait_until(lambda: handle.state in TERMINAL, 60)
    assert handle.result(60) == "done"
    wait_until(lambda: alarms() == [], say=alarms)


def test_a_refusal_after_an_outage_is_told_though_the_outage_was(
    namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    broker = RedisBroker(conf.current())
    trips = transport.Transport("default", "w1", broker)
    trips.send(transport.PendingTrip(at=0.0), ())
    assert not isinstance(trips.receive(), Exception)
    refused = LibraryRefused(reason="no", place="", advice="Ask")
    for error in (OSError("gone"), OSError("gone"), refused, refused):
        trips._failed(error)
    told = [record.levelname for record in caplog.records if record.levelno >= logging.ERROR]
    assert told == ["ERROR", "CRITICAL"]
    broker.close()
