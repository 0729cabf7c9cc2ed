"""Diagnosis of map-reduce: why the reduce has not begun, and what a retry keeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain

from queueops.inspect.alarm import manage
from queueops.inspect.spans import clock, span
from queueops.inspect.why.findings import Finding, bad, good
from queueops.inspect.why.waiting import key_findings, servers
from queueops.kinds.mapreduce.details import goes_on_at
from queueops.kinds.mapreduce.inspect.overview import ChunksView, chunks_of, counts_of
from queueops.kinds.mapreduce.states import AGGREGATING
from queueops.model.states import State
from queueops.redis.query_replies import Detail

OPEN = ("failed", "errored", "active", "pending")


def parked(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding] | None:
    """What an aggregating task waits for; None for other tasks. What an operator can repair comes first."""
    return chain(_aggregating(detail), servers(detail)) if state == AGGREGATING else None


def ended(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding]:
    """What a retry of a map-reduce task keeps, and what it runs."""
    stage = goes_on_at(record, state)
    if stage in ("process", "reduce") and (found := counts_of(detail.id, detail.pool)):
        _, sizes = found
        done = f"{sizes['done']:,} of {sum(sizes.values()):,} chunks are done"
        if stage == "reduce":
            yield good("A retry runs the reduce again, with the results of the chunks.", value=done)
            return
        counts = ", ".join(f"{sizes[name]:,} {name}" for name in OPEN if sizes[name])
        yield good(f"A retry runs the chunks that are not done ({counts}), then the reduce.", value=done)


def _aggregating(detail: Detail) -> Iterator[Finding]:
    view, lane = chunks_of(detail.id, detail.pool, count=1), f"{detail.pool}/{detail.lane}"
    if view is None:
        return
    done = f"{view.counts['done']:,} of {view.total:,} done"
    if not view.open:
        yield bad(f"All chunks have ended, but the reduce is not ready. Run `{manage('queue', 'fsck')}`.", value=done)
        return
    yield bad(f"The reduce waits for {view.open:,} chunks.", value=done)
    if view.paused:
        yield bad("The task's lane is paused. Its chunks wait, too.", value="paused", verb="resume_lane", target=lane)
    if view.moving:
        yield bad("Chunks return to their lane. Workers claim none until this has ended.")
    yield from _failed(view)
    yield from _errored(view)
    yield from _active(view)
    yield from _pending(view, detail)


def _failed(view: ChunksView) -> Iterator[Finding]:
    failed, most = view.counts["failed"] - view.let_go, view.tolerated
    if failed <= 0:
        return
    limit = "any number may fail" if most is None else f"{most:,} may fail"
    yield bad(f"{failed:,} chunks failed.", value=limit, verb="retry_chunks", target=view.id)


def _errored(view: ChunksView) -> Iterator[Finding]:
    errored, due = view.counts["errored"], view.next_due_ms
    if not errored:
        return
    left = due - view.now_ms if due else 0
    when = f"the first one starts in {span(left)}" if left > 0 else "the first one is due"
    yield bad(
        f"{errored:,} chunks wait for their next attempt: {when}.",
        value=clock(due or 0),
        verb="retry_chunks",
        target=view.id,
    )


def _active(view: ChunksView) -> Iterator[Finding]:
    if not view.counts["active"]:
        return
    holders = Counter(row.worker for row in view.stragglers)
    value = ", ".join(f"{worker}: {count}" for worker, count in holders.most_common(5))
    yield good(f"{view.counts['active']:,} chunks are running.", value=value)
    longest = view.stragglers[0]
    text = f"Chunk {longest.number} has run for {span(view.now_ms - longest.begun_ms)}, the longest of all."
    yield good(text, value=longest.worker, target=longest.worker)


def _pending(view: ChunksView, detail: Detail) -> Iterator[Finding]:
    pending, active, most = view.counts["pending"], view.counts["active"], view.max_parallel
    if not pending:
        return
    if most is not None and active >= most:
        yield bad(f"{pending:,} chunks wait: the task runs at most {most:,} at once.", value=f"{active:,} of {most:,}")
        return
    if view.key and not view.paused and not view.moving:
        yield from key_findings(detail, view.key, view.key_limit, view.key_rate, pending)
        if detail.key_rank is not None:
            return
    pace = "none was done in the last minute" if not view.per_second else f"{view.per_second:.1f} a second"
    yield good(f"{pending:,} chunks wait for a worker, in turn with the other lanes of the pool.", value=pace)
