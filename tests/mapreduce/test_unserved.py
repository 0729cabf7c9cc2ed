"""Tasks of a class that no worker has any more are found, and can be collected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from queueops import MapReduce, control, inspect
from queueops.inspect import TaskQuery
from queueops.kinds.mapreduce.job import ChunkHandler
from queueops.model.states import State
from queueops.redis.broker import get_broker
from queueops.results.handle import TaskHandle
from queueops.tasks import registry
from queueops.testing import run_worker
from tests.kernel.desk import Desk


class Gone(MapReduce):
    """Its code is deleted in the middle of the tests."""

    name = "tests.gone"

    def map(self):
        return [1, 2, 3]

    def process(self, chunk):
        return chunk


@pytest.fixture
def desk(namespace: str) -> Desk:
    return Desk(get_broker())


@pytest.fixture
def removed() -> Iterator[Any]:
    """Take the class away, as a deployment does."""
    kept = {kind: registry.get(kind, Gone.name) for kind in ("mapreduce", "chunk")}
    yield lambda: [registry.unregister(kind, Gone.name) for kind in kept]
    for kind, handler in kept.items():
        registry.unregister(kind, Gone.name)
        registry.register(handler, f"{Gone.__qualname__} in {Gone.__module__}")


def go_on(desk: Desk, *ids: str) -> None:
    """A worker meets what it does not know, and a week later another one does, and gives it up."""
    run_worker()
    for each in ids:
        if desk.client.hexists(desk.keys.task(each), "uk"):
            desk.client.hset(desk.keys.task(each), mapping={"uk": 1, "c": 1})
    desk.make_due(*ids)
    desk.tick()
    run_worker()


def test_a_task_that_nobody_knows_is_found_in_quarantine_and_collected(desk: Desk, removed: Any) -> None:
    handle = Gone.push()
    removed()
    go_on(desk, handle.id)
    assert handle.state == State.QUARANTINED
    assert "no task of this worker is named 'tests.gone'" in handle.status().reason
    found = inspect.tasks(TaskQuery(pool="default", state="quarantined"))
    assert [(row.id, row.kind) for row in found.rows] == [(handle.id, "mapreduce")]
    assert any("quarantined" in alarm.text for alarm in inspect.snapshot().alarms)
    assert [row.word for row in control.discard([handle.id])] == ["OK"]
    assert handle.state is None


def test_it_runs_when_somebody_knows_it_again_and_it_is_put_back(desk: Desk, removed: Any) -> None:
    handle = Gone.push()
    removed()
    go_on(desk, handle.id)
    for handler in (Gone.task.handler, ChunkHandler(Gone.task.handler)):
        registry.register(handler, "a release that has it")
    assert [row.word for row in control.requeue([handle.id])] == ["OK"]
    run_worker()
    assert handle.state == State.SUCCEEDED


def test_chunks_that_nobody_knows_fail_their_task_which_is_collected_with_all_of_them(desk: Desk, removed: Any) -> None:
    handle: TaskHandle[Any] = Gone.push()
    run_worker(until_idle=False)
    assert handle.status().chunks["pending"] == 3
    removed()
    go_on(desk, *(f"{handle.id}#{number}" for number in range(3)))
    assert handle.state == State.FAILED
    assert "no task of this worker is named 'tests.gone'" in handle.status().reason
    assert [row.id for row in inspect.tasks(TaskQuery(pool="default", state="failed")).rows] == [handle.id]
    assert [row.word for row in control.delete([handle.id])] == ["OK"]
    desk.make_due(f"~trash:{handle.id}")
    desk.tick()
    assert [key for key in desk.client.scan_iter("*") if handle.id.encode() in key] == []
