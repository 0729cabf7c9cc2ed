"""Diagnosis of chunks: why a map-reduce task does not reduce yet, and what its open chunks wait for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from queueops.inspect.chunk_answers import ChunksView
from queueops.inspect.chunks import chunks_of
from queueops.inspect.findings import bad, good
from queueops.inspect.models import Finding
from queueops.inspect.spans import clock, span


def aggregating_findings(id: str, pool: str, lane: str) -> Iterator[Finding]:
    """Each check of the chunks, with those that an operator can repair first; `lane` as `pool/lane`."""
    view = chunks_of(id, pool, count=1)
    if view is None:
        return
    done = f"{view.counts['done']:,} of {view.total:,} done"
    if not view.open:
        yield bad("All its chunks are through, and its reduce is not ready; run `manage.py queue fsck`.", value=done)
        return
    yield bad(f"Its reduce waits for {view.open:,} chunks.", value=done)
    if view.paused:
        yield bad("The task's lane is paused: its chunks wait, too.", value="paused", verb="resume_lane", target=lane)
    if view.moving:
        yield bad("Chunks are being made ready again. Workers claim none until this has ended.")
    yield from _failed(view)
    yield from _errored(view)
    yield from _active(view)
    yield from _pending(view)


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
    when = f"the first is tried again in {span(left)}" if left > 0 else "the first is due"
    yield bad(f"{errored:,} chunks back off: {when}.", value=clock(due or 0), verb="retry_chunks", target=view.id)


def _active(view: ChunksView) -> Iterator[Finding]:
    if not view.counts["active"]:
        return
    holders = Counter(row.worker for row in view.stragglers)
    value = ", ".join(f"{worker}: {count}" for worker, count in holders.most_common(5))
    yield good(f"{view.counts['active']:,} chunks run.", value=value)
    longest = view.stragglers[0]
    text = f"Chunk {longest.number} has run for {span(view.now_ms - longest.begun_ms)}, longer than the others."
    yield good(text, value=longest.worker, target=longest.worker)


def _pending(view: ChunksView) -> Iterator[Finding]:
    pending, active, most = view.counts["pending"], view.counts["active"], view.max_parallel
    if not pending:
        return
    if most is not None and active >= most:
        yield bad(f"{pending:,} chunks wait: the task may run {most:,} at once.", value=f"{active:,} of {most:,}")
        return
    pace = "none was done in the last minute" if not view.per_second else f"{view.per_second:.1f} a second"
    yield good(f"{pending:,} chunks wait for a worker, beside the other lanes of the pool.", value=pace)
