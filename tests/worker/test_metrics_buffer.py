from __future__ import annotations

from queueops.model.contracts import Lease, Outcome, Settlement
from queueops.model.histogram import bucket
from queueops.worker.loop.metrics_buffer import MetricsBuffer


def count(metrics: MetricsBuffer, name: str, outcome: Outcome, run_ms: float = 5.0) -> None:
    metrics.add(Lease(id="x", fence=1, name=name, wait_ms=2), Settlement("x", 1, outcome), run_ms)


def test_ends_and_latencies_are_counted_by_name() -> None:
    metrics = MetricsBuffer()
    for outcome in (Outcome.SUCCESS, Outcome.SUCCESS, Outcome.ERROR, Outcome.RELEASE):
        count(metrics, "a", outcome)
    count(metrics, "b", Outcome.TIMEOUT, run_ms=100.0)
    assert metrics.due(now=10.0) == {
        "ok|a": 2,
        "err|a": 1,
        "ms|a": 15,
        f"run|a|{bucket(5.0)}": 4,
        f"wait|a|{bucket(2)}": 4,
        "err|b": 1,
        "ms|b": 100,
        f"run|b|{bucket(100.0)}": 1,
        f"wait|b|{bucket(2)}": 1,
    }
    assert not metrics.waiting()


def test_what_chunks_wait_is_no_wait_of_a_task() -> None:
    metrics = MetricsBuffer()
    metrics.add(
        Lease(id="m#0", fence=1, name="a", kind="chunk", wait_ms=9000), Settlement("m#0", 1, Outcome.SUCCESS), 5.0
    )
    assert metrics.due(now=10.0) == {"ok|a": 1, "ms|a": 5, f"run|a|{bucket(5.0)}": 1}


def test_counts_are_sent_at_most_once_a_second() -> None:
    metrics = MetricsBuffer()
    count(metrics, "a", Outcome.SUCCESS)
    assert metrics.due(now=10.0)
    count(metrics, "a", Outcome.SUCCESS)
    assert metrics.due(now=10.9) is None
    assert metrics.due(now=11.0)
    assert metrics.due(now=20.0) is None


def test_counts_that_could_not_be_sent_are_not_lost() -> None:
    metrics = MetricsBuffer()
    count(metrics, "a", Outcome.SUCCESS)
    metrics.give_back(metrics.due(now=10.0))
    count(metrics, "a", Outcome.SUCCESS)
    metrics.hurry()
    taken = metrics.due(now=10.1)
    assert taken is not None
    assert taken["ok|a"] == 2
