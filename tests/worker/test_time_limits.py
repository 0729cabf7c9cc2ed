"""For how long a lease is renewed: not past the task's own limit, for a process may hang with all that is in it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from queueops.model.contracts import Lease
from queueops.worker.execution.time_limits import SPARE_MS, TimeLimits
from queueops.worker.shared_slot_table import NEVER
from tests.support.for_each import for_each


def left_ms(timeout_ms: int | None, slot: Any = None) -> int:
    executor: Any = SimpleNamespace(slot_of=lambda lease: slot)
    lease = Lease(id="t", fence=1, pool="default", timeout_ms=timeout_ms)
    return TimeLimits(executor, lambda: 0.0).left_ms(lease)


def running(seconds: float, hard_limit: float) -> Any:
    return SimpleNamespace(started=100.0, hard_limit=hard_limit, seconds=lambda: seconds)


@for_each(
    ("timeout_ms", "slot", "left"),
    [
        (None, running(5.0, NEVER), -1),
        (3000, None, 3000 + SPARE_MS),
        (3000, running(1.0, 104.0), 3000 + SPARE_MS),
        (3000, running(3.9, 104.0), 100 + SPARE_MS),
        (3000, running(60.0, 104.0), SPARE_MS),
    ],
)
def test_a_lease_is_renewed_to_the_hard_limit_and_a_little_more(timeout_ms: int | None, slot: Any, left: int) -> None:
    assert left_ms(timeout_ms, slot) == left
