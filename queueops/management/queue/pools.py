"""One pool: its figures, lanes and workers; pause and resume of all its lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from django.core.management.base import CommandError

from queueops import control, inspect
from queueops.errors import advice
from queueops.inspect import LaneRow, PoolDetail
from queueops.inspect.spans import span
from queueops.inspect.store import open_reader
from queueops.management.queue import audit
from queueops.management.queue.formatting import moment, pairs, printable, shown_broken, table, to_json
from queueops.management.queue.lookup import check_pool, told_others
from queueops.management.queue.task_view import removals

LANES_HEAD = ("LANE", "READY", "ACTIVE", "LIMIT", "RATE", "OLDEST", "DRAINS IN", "STATE", "SET BY")
WORKERS_HEAD = ("WORKER", "STATE", "SLOTS", "BUSY", "MB", "BEAT")
CALLS: dict[str, Callable[..., tuple[str, ...]]] = {
    "pause-pool": control.pause_pool,
    "resume-pool": control.resume_pool,
}


def show(*, pool: str, as_json: bool, **_: Any) -> Iterator[str]:
    """The figures of a pool, its lanes and its workers."""
    found = inspect.pool(pool)
    if found is None:
        told = f"There is no pool {printable(pool)!r}{advice(pool, open_reader().pools())}"
        raise CommandError(" ".join((told, *told_others(pool))))
    if as_json:
        yield to_json(found)
        return
    yield from shown_broken(found.broken)
    yield pairs(_facts(found))
    if found.lanes:
        lanes = sorted(found.lanes, key=lambda lane: (-lane.ready, -lane.active, lane.lane))
        yield "\n" + table(LANES_HEAD, [_lane(lane, found.now_ms) for lane in lanes])
        if changed := removals(lanes):
            yield changed
    if found.workers:
        rows = [
            (row.id, row.state, row.slots, row.busy, round(row.rss / 2**20), moment(row.beat_ms))
            for row in found.workers
        ]
        yield "\n" + table(WORKERS_HEAD, rows)


def act(*, subcommand: str, pool: str, as_json: bool, **_: Any) -> Iterator[str]:
    """Pause or resume each lane of a pool."""
    check_pool(pool)
    verb, changed = subcommand.replace("-", "_"), list[str]()
    before = {"pool": pool, "lanes": changed}
    with audit.recorded(verb=verb, target=pool, before=before) as recorded:
        CALLS[subcommand](pool, note=changed.append)
        recorded.after = {"paused": verb == "pause_pool"}
    if as_json:
        yield to_json({"pool": pool, "lanes": changed})
        return
    word = "paused" if verb == "pause_pool" else "resumed"
    yield f"{len(changed)} lanes of the pool {printable(pool)} are {word}."


def _facts(found: PoolDetail) -> Iterator[tuple[str, str]]:
    view, oldest = found.view, found.view.oldest_pending_ms
    yield "pool", view.name
    yield "tasks", ", ".join(f"{count:,} {state}" for state, count in sorted(view.states.items()) if count) or "none"
    yield "waiting", f"{view.waiting:,}" + (f", the oldest for {span(found.now_ms - oldest)}" if oldest else "")
    yield "drains in", f"{view.drain_s:.3g} s" if view.drain_s is not None else view.drain_reason
    yield "rate", f"{view.in_rate:.3g}/s in, {view.out_rate:.3g}/s out"
    yield "failed", f"{view.failure_rate * 100:.3g} % of the attempts of two minutes"
    yield "p95", f"{_time(view.wait_p95_ms)} wait, {_time(view.run_p95_ms)} run"
    for alarm in found.alarms:
        yield "alarm", alarm.text


def _time(ms: float | None) -> str:
    return "no" if ms is None else span(ms)


def _lane(lane: LaneRow, now_ms: int) -> tuple[object, ...]:
    oldest = None if lane.oldest_ms is None else span(now_ms - lane.oldest_ms)
    empty = f"{lane.drain_s:.3g} s" if lane.ready and lane.drain_s is not None else lane.drain_reason or None
    state = "paused" if lane.paused else "open"
    return lane.lane, lane.ready, lane.active, lane.limit, lane.rate, oldest, empty, state, lane.told_origin
