"""A map-reduce task is cancelled by its id."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from queueops.errors import BadId
from queueops.model.states import State
from queueops.testing import run_worker
from tests.mapreduce.test_behaviours import Faltering


@pytest.fixture
def calls(namespace: str) -> list[Any]:
    """What was called, in the order of the calls."""
    return []


@pytest.mark.parametrize("later", [False, True], ids=["sync", "async"])
def test_a_class_cancels_its_tasks_by_id_in_whichever_pool_they_are(calls: list[Any], later: bool) -> None:
    class ById(Faltering):
        def task_id(self):
            return "by-id"

    def cancel(task_id: str, reason: str = "") -> bool:
        return asyncio.run(ById.acancel(task_id, reason)) if later else ById.cancel(task_id, reason)

    ById.calls = calls
    handle = ById.using(pool="other").push()
    run_worker(until_idle=False)
    assert cancel("by-id", "seen enough")
    run_worker()
    assert calls == ["map"]
    status = ById.status("by-id")
    assert (status.state, status.pool, status.reason) == (State.CANCELLED, "other", "seen enough")
    assert status.chunks["pending"] == 2
    assert handle.state == State.CANCELLED
    assert not cancel("by-id"), "it has ended"
    assert not cancel("nobody-pushed-this")
    with pytest.raises(BadId):
        cancel("no id")
