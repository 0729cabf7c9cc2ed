"""A pool's own thread, which outlives what its calls raise."""

from __future__ import annotations

import threading

import pytest

from queueops.worker.loop.pool_thread import PoolThread


def test_a_call_that_raises_does_not_end_the_thread(caplog: pytest.LogCaptureFixture) -> None:
    rings: list[int] = []
    made = threading.Event()

    def broken() -> None:
        raise ValueError("no such note")

    thread = PoolThread("aaa", lambda: rings.append(1))
    thread.call(broken)
    thread.call(made.set)
    assert made.wait(10)
    thread.close(10)
    assert len(rings) == 2
    assert "Pool aaa: " in caplog.text
    assert "no such note" in caplog.text
