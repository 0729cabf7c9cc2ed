"""Time limits of a running task, as its supervisor reads them in the slot table."""

from __future__ import annotations

import time

import pytest

from queueops.model.contracts import Lease
from queueops.tasks.context import Context
from queueops.worker.execution.slot import ThreadSlot
from queueops.worker.loop.progress_buffer import ProgressBuffer
from queueops.worker.shared_slot_table import SlotTable


@pytest.mark.parametrize("seconds", [50.0, -5.0])
def test_a_limit_that_a_task_moves_is_told_to_the_supervisor(seconds: float) -> None:
    table, lease = SlotTable(1), Lease(id="a", fence=1, name="shop.mail", timeout_ms=10_000)
    slot = ThreadSlot(0, table)
    assert slot.open(lease, Context(lease, None, None), 100.0)  # type: ignore[arg-type]
    (before,) = table.running()
    ProgressBuffer(None, lambda _: slot).extend(lease, seconds)  # type: ignore[arg-type]
    (after,) = table.running()
    assert (before.deadline, after.deadline) == (111.0, max(1.0, (10 + seconds) * 0.1) + 110 + seconds)
    assert slot.hard_limit == after.deadline
    table.close()


def test_a_limit_that_a_task_sets_counts_from_now() -> None:
    table, lease = SlotTable(1), Lease(id="a", fence=1, name="shop.mail", timeout_ms=10_000)
    slot = ThreadSlot(0, table)
    assert slot.open(lease, Context(lease, None, None), 100.0)  # type: ignore[arg-type]
    before = time.monotonic()
    ProgressBuffer(None, lambda _: slot).set_deadline(lease, 50.0)  # type: ignore[arg-type]
    assert before + 50 <= slot.deadline <= time.monotonic() + 50
    assert [found.deadline for found in table.running()] == [slot.hard_limit]
    table.close()
