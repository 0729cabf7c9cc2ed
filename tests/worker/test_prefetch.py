from __future__ import annotations

import pytest

from queueops.worker.loop.prefetch import HOLD_MS, Prefetch


def after(*run_ms: float, slots: int = 8, ceiling: int = 256) -> Prefetch:
    prefetch = Prefetch(slots, ceiling)
    for ms in run_ms:
        prefetch.ran(ms, 1)
    return prefetch


def test_nothing_is_fetched_ahead_before_a_run_time_is_known() -> None:
    assert after().ahead() == 0


def test_tiny_tasks_are_fetched_ahead_up_to_the_ceiling() -> None:
    assert after(0.01).ahead() == 256


def test_what_is_held_is_some_milliseconds_of_work_whatever_the_tasks_take() -> None:
    for ms in (1.0, 4.0, HOLD_MS / 2):
        held_ms = after(ms).ahead() * ms / 8
        assert held_ms == pytest.approx(HOLD_MS, rel=0.1)


@pytest.mark.parametrize("ms", [HOLD_MS, 100.0, 60_000.0])
def test_long_tasks_are_not_fetched_ahead(ms: float) -> None:
    assert after(ms).ahead() == 0


def test_one_long_task_after_many_short_ones_stops_the_fetching_at_once() -> None:
    assert after(*[0.1] * 1000, 1000.0).ahead() == 0


def test_a_batch_counts_like_its_tasks_one_by_one() -> None:
    prefetch = after(10.0)
    prefetch.ran(100.0, 50)
    assert prefetch.average_ms == pytest.approx(after(10.0, *[2.0] * 50).average_ms)


def test_stuck_slots_take_no_work_so_none_is_fetched_for_them() -> None:
    prefetch = after(1.0)
    assert prefetch.ahead(stuck=4) == prefetch.ahead() // 2
    assert prefetch.ahead(stuck=8) == 0
