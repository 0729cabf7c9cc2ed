from __future__ import annotations

from queueops.model.contracts import Lease, Outcome, Settlement
from queueops.model.histogram import bucket
from queueops.worker.loop.metrics_buffer import MOST_LANES, MetricsBuffer


def count(metrics: MetricsBuffer, name: str, outcome: Outcome, run_ms: float = 5.0) -> None:
    metrics.add(Lease(id="x", fence=1, name=name, wait_ms=2), Settlement("x", 1, outcome), run_ms)


def by_name(found: dict[str, int] | None) -> dict[str, int]:
    return {field: count for field, count in (found or {}).items() if not field.startswith("@")}


def test_ends_and_latencies_are_counted_by_name() -> None:
    metrics = MetricsBuffer()
    for outcome in (Outcome.SUCCESS, Outcome.SUCCESS, Outcome.ERROR, Outcome.RELEASE):
        count(metrics, "a", outcome)
    count(metrics, "b", Outcome.TIMEOUT, run_ms=100.0)
    assert by_name(metrics.due(now=10.0)) == {
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


def test_ends_and_latencies_are_counted_by_lane() -> None:
    metrics = MetricsBuffer()
    for name, lane in (("a", "mail"), ("b", "mail"), ("a", "default")):
        metrics.add(Lease(id="x", fence=1, name=name, lane=lane, wait_ms=2), Settlement("x", 1, Outcome.SUCCESS), 5.0)
    found = metrics.due(now=10.0) or {}
    assert {field: count for field, count in found.items() if field.startswith("@")} == {
        f"@{word}|{lane}{rest}": times * count
        for lane, times in (("mail", 2), ("default", 1))
        for word, rest, count in (
            ("ok", "", 1),
            ("ms", "", 5),
            ("run", f"|{bucket(5)}", 1),
            ("wait", f"|{bucket(2)}", 1),
        )
    }


def test_lanes_beyond_so_many_are_counted_together() -> None:
    metrics = MetricsBuffer()
    for number in range(MOST_LANES + 7):
        metrics.add(Lease(id="x", fence=1, name="a", lane=f"l{number}"), Settlement("x", 1, Outcome.SUCCESS), 5.0)
    found = metrics.due(now=10.0) or {}
    assert found["@ok|"] == 7
    assert sum(field.startswith("@ok|") for field in found) == MOST_LANES + 1
    assert found["ok|a"] == MOST_LANES + 7


def test_a_failed_run_before_another_attempt_is_counted_as_retried() -> None:
    metrics = MetricsBuffer()
    for attempt, delay in ((1, 0), (2, 1000), (3, 0), (1, -1)):
        lease = Lease(id="x", fence=1, name="a", attempt=attempt, retries=2)
        metrics.add(lease, Settlement("x", 1, Outcome.ERROR, delay_ms=delay), 5.0)
    found = metrics.due(now=10.0) or {}
    assert (found["err|a"], found["re|a"], found["@re|default"]) == (4, 2, 2)


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
    assert metrics.due_at == 11.0
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
