"""History: `queue history` shows figures over time, of all pools, a pool, a lane, a name or a state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from queueops import inspect
from queueops.inspect import Point
from queueops.inspect.spans import span
from queueops.management.queue.formatting import moment, shown_broken, table, to_json
from queueops.management.queue.lookup import check_pool

HEAD = (
    *("FROM", "IN", "OUT", "FAILED", "RETRIED", "WAITING", "RUNNING", "OLDEST"),
    *("WAIT P50", "P95", "P99", "RUN P50", "P95", "P99"),
)


def show_history(*, range: str, pool: str, lane: str, name: str, state: str, as_json: bool, **_: Any) -> Iterator[str]:
    """The steps of a range with data, the oldest first; as JSON all of them."""
    check_pool(pool)
    found = inspect.series(range, pool=pool, lane=lane, name=name, state=state)
    if as_json:
        yield to_json(found)
        return
    yield from shown_broken(found.broken)
    rows = [_line(moment(point.at_ms)[:16], point) for point in found.points if point.known]
    yield table(HEAD, [*rows, _line("all", found.total)]) if rows else f"Nothing is known of the last {range}."


def _line(at: str, point: Point) -> tuple[object, ...]:
    waits = (point.wait_p50_ms, point.wait_p95_ms, point.wait_p99_ms)
    runs = (point.run_p50_ms, point.run_p95_ms, point.run_p99_ms)
    counts = (point.came, point.ended, point.failed, point.retried)
    seen = (point.waiting, point.running, None if point.oldest_ms is None else span(point.oldest_ms))
    return at, *counts, *seen, *(None if ms is None else span(ms) for ms in (*waits, *runs))
