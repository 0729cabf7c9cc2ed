"""Tasks that time out in a worker process: the slots that they held."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from queueops.errors import SoftTimeout
from queueops.model.contracts import Outcome
from queueops.tasks.context import Context
from tests.support.rig import Rig
from tests.support.waiting import wait_until


@pytest.mark.parametrize("is_async", [False, True])
def test_the_slot_of_a_task_that_timed_out_is_free_once(make_rig: Callable[[int], Rig], is_async: bool) -> None:
    """A limit of time that is told to a task and to its end must not make room for two."""
    rig = make_rig(2)
    busy, most = [0], [0]
    lock = threading.Lock()

    @contextmanager
    def counted() -> Iterator[None]:
        with lock:
            busy[0] += 1
            most[0] = max(most[0], busy[0])
        try:
            yield
        finally:
            with lock:
                busy[0] -= 1

    def overdue(context: Context) -> None:
        with counted():
            while True:
                time.sleep(0.001)

    async def overdue_later(context: Context) -> None:
        with counted():
            await asyncio.sleep(60)

    leases = rig.submit(rig.task(overdue_later if is_async else overdue), 12, timeout_ms=50)
    told: set[str] = set()

    def stop_all() -> bool:
        for slot, lease in rig.executor.running():
            for _ in range(3):
                if slot.stop(lease, SoftTimeout):
                    told.add(lease.id)
        return len(rig.executor.done) == len(leases)

    wait_until(stop_all, say=lambda: rig.executor.done)
    assert most[0] <= 2
    assert [end.outcome for end in rig.ends(12)] == [Outcome.TIMEOUT] * 12
    assert told == {lease.id for lease in leases}
    assert list(rig.executor.running()) == []
