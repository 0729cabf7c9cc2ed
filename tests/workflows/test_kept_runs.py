"""Runs in memory: how many a process keeps, which one goes first, and that each goes on by a replay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from queueops import wf, workflow
from queueops.kinds.workflows import kept_runs as memory
from queueops.kinds.workflows.kept_runs import kept_runs
from queueops.kinds.workflows.settings import DEFAULTS
from queueops.testing import run_worker

made: list[str] = []


@workflow(name="kept.listens")
async def listens(count: int) -> list[Any]:
    """Notes when its code begins, which a replay does again."""
    made.append(wf.info().instance)
    return [await wf.signal("next") for _ in range(count)]


@pytest.fixture(autouse=True)
def _memory(namespace: str, settings: Any) -> Iterator[None]:
    kept_runs.clear()
    before, kept_runs.most = kept_runs.most, None
    settings.QUEUEOPS = settings.QUEUEOPS | {"WORKFLOWS": {"KEPT_RUNS": 2}}
    made.clear()
    yield
    kept_runs.most = before
    kept_runs.clear()


def begin(*instances: str) -> None:
    """Runs that wait for their first signal, in this order."""
    for instance in instances:
        listens.using(id=instance).start(2)
        run_worker()


def signal(*instances: str) -> None:
    """A step of each of these runs, in this order."""
    for instance in instances:
        listens.handle(instance).signal("next", instance)
        run_worker()


def test_a_run_in_memory_goes_on_without_a_replay() -> None:
    begin("a", "b")
    signal("a", "b")
    assert made == ["a", "b"]


def test_the_run_that_was_kept_longest_goes_first_and_goes_on_by_a_replay() -> None:
    begin("a", "b", "c")  # a is gone
    signal("b", "c")
    assert made == ["a", "b", "c"]
    signal("a")
    assert made == ["a", "b", "c", "a"]  # b is gone
    signal("c", "b", "a")
    assert made == ["a", "b", "c", "a", "b"]
    assert [listens.handle(each).result(timeout=0) for each in "abc"] == [[each] * 2 for each in "abc"]


def test_an_evicted_run_is_closed() -> None:
    begin("a")
    (kept,) = [execution for _, execution in kept_runs._kept.values()]
    begin("b", "c")
    assert not kept.loop.tasks


@pytest.fixture
def _by_memory(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting says how many runs are kept; two are the least. The tests before have filled this process."""
    settings.QUEUEOPS = {**settings.QUEUEOPS, "WORKFLOWS": {}}
    monkeypatch.setattr(memory, "MEMORY", 1 << 60)
    monkeypatch.setattr(memory, "LEAST", 2)


@pytest.mark.usefixtures("_by_memory")
def test_more_runs_are_kept_as_long_as_the_process_has_memory() -> None:
    begin("a", "b", "c", "d")
    signal("a", "b", "c", "d")
    assert made == ["a", "b", "c", "d"]


@pytest.mark.usefixtures("_by_memory")
def test_a_process_with_much_memory_keeps_the_least_and_lets_the_others_go(monkeypatch: pytest.MonkeyPatch) -> None:
    begin("a", "b", "c", "d")
    monkeypatch.setattr(memory, "MEMORY", 0)
    begin("e")  # a and b go
    assert [run for _, run in kept_runs._kept] == [listens.handle(each).id for each in "cde"]
    begin("f")
    assert [run for _, run in kept_runs._kept] == [listens.handle(each).id for each in "ef"]


def test_a_thousand_runs_are_kept_by_default() -> None:
    assert (DEFAULTS.kept_runs, memory.LEAST) == (None, 1_000)


def test_the_facts_of_a_worker_tell_of_hits_and_replays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_runs, "hits", 0)
    monkeypatch.setattr(kept_runs, "replays", 0)
    begin("a", "b", "c")  # a is gone; a first step needs no replay
    assert kept_runs.facts() == {}
    signal("c", "b", "a")
    assert kept_runs.facts() == {"kept runs": "2", "hits": "2", "replays": "1"}
    assert "workflow code" in memory.facts(())


def test_without_memory_each_step_begins_with_a_replay(settings: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"WORKFLOWS": {"KEPT_RUNS": 0}}
    begin("a")
    signal("a", "a")
    assert made == ["a"] * 3
    assert listens.handle("a").result(timeout=0) == ["a", "a"]
