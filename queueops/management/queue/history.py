"""History: `queue history` shows figures over time, of pools, or of one lane, name, state, error or worker."""

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
ERROR_HEAD = ("FROM", "FAILED")
WORKER_HEAD = ("FROM", "ENDED", "FAILED", "SLOTS USED", "BUSY %", "RSS MB")
OF = ("lane", "name", "state", "error", "worker")


def show_history(*, range: str, pool: str, as_json: bool, **given: Any) -> Iterator[str]:
    """The steps of a range with data, the oldest first; as JSON all of them."""
    check_pool(pool)
    found = inspect.series(range, pool=pool, **{what: given[what] for what in OF})
    if as_json:
        yield to_json(found)
        return
    yield from shown_broken(found.broken)
    head: tuple[str, ...] = HEAD
    line = _line
    if found.error:
        head, line = ERROR_HEAD, _of_error
    elif found.worker:
        head, line = WORKER_HEAD, _of_worker
    rows = [line(moment(point.at_ms)[:16], point) for point in found.points if point.known]
    yield table(head, [*rows, line("all", found.total)]) if rows else f"Nothing is known of the last {range}."


def _of_error(at: str, point: Point) -> tuple[object, ...]:
    return at, point.failed


def _of_worker(at: str, point: Point) -> tuple[object, ...]:
    busy = None if point.busy_share is None else round(point.busy_share * 100, 1)
    return at, point.ended, point.failed, point.running, busy, _megabytes(point.memory)


def _megabytes(size: int | None) -> int | None:
    return None if size is None else round(size / 2**20)


def _line(at: str, point: Point) -> tuple[object, ...]:
    waits = (point.wait_p50_ms, point.wait_p95_ms, point.wait_p99_ms)
    runs = (point.run_p50_ms, point.run_p95_ms, point.run_p99_ms)
    counts = (point.came, point.ended, point.failed, point.retried)
    seen = (point.waiting, point.running, None if point.oldest_ms is None else span(point.oldest_ms))
    return at, *counts, *seen, *(None if ms is None else span(ms) for ms in (*waits, *runs))
