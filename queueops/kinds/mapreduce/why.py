"""Diagnosis of map-reduce: why the reduce has not begun, and what a retry keeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain

from queueops.inspect.alarm import manage
from queueops.inspect.spans import clock, span
from queueops.inspect.why.findings import Finding, bad, good
from queueops.inspect.why.waiting import servers
from queueops.kinds.mapreduce.details import goes_on_at
from queueops.kinds.mapreduce.inspect.overview import ChunksView, chunks_of, counts_of
from queueops.kinds.mapreduce.states import AGGREGATING
from queueops.model.sentences import Figure, join, say, say_n
from queueops.model.states import State
from queueops.redis.query_replies import Detail

OPEN = {"failed": say("failed"), "errored": say("errored"), "active": say("active"), "pending": say("pending")}
"""The words for chunks that are not done."""


def parked(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding] | None:
    """What an aggregating task waits for; None for other tasks. What an operator can repair comes first."""
    return chain(_aggregating(detail), servers(detail)) if state == AGGREGATING else None


def ended(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding]:
    """What a retry of a map-reduce task keeps, and what it runs."""
    stage = goes_on_at(record, state)
    if stage in ("process", "reduce") and (found := counts_of(detail.id, detail.pool)):
        _, sizes = found
        done = say("%(done)s of %(total)s chunks are done", done=sizes["done"], total=sum(sizes.values()))
        if stage == "reduce":
            yield good(say("A retry runs the reduce again, with the results of the chunks."), value=done)
            return
        counts = [join(Figure(f"{sizes[name]:,}"), word) for name, word in OPEN.items() if sizes[name]]
        text = say(
            "A retry runs the chunks that are not done (%(counts)s), then the reduce.", counts=join(*counts, by=", ")
        )
        yield good(text, value=done)


def _aggregating(detail: Detail) -> Iterator[Finding]:
    view, lane = chunks_of(detail.id, detail.pool, count=1), f"{detail.pool}/{detail.lane}"
    if view is None:
        return
    done = say("%(done)s of %(total)s done", done=view.counts["done"], total=view.total)
    if not view.open:
        text = say(
            "All chunks have ended, but the reduce is not ready. Run `%(command)s`.", command=manage("queue", "fsck")
        )
        yield bad(text, value=done)
        return
    yield bad(say_n("The reduce waits for %(n)s chunks.", "The reduce waits for %(n)s chunks.", view.open), value=done)
    if view.paused:
        text = say("The task's lane is paused. Its chunks wait, too.")
        yield bad(text, value=say("paused"), verb="resume_lane", target=lane)
    if view.moving:
        yield bad(say("Chunks return to their lane. Workers claim none until this has ended."))
    yield from _failed(view)
    yield from _errored(view)
    yield from _active(view)
    yield from _pending(view)


def _failed(view: ChunksView) -> Iterator[Finding]:
    failed, most = view.counts["failed"] - view.let_go, view.tolerated
    if failed <= 0:
        return
    limit = say("any number may fail") if most is None else say_n("%(n)s may fail", "%(n)s may fail", most)
    text = say_n("%(n)s chunks failed.", "%(n)s chunks failed.", failed)
    yield bad(text, value=limit, verb="retry_chunks", target=view.id)


def _errored(view: ChunksView) -> Iterator[Finding]:
    errored, due = view.counts["errored"], view.next_due_ms
    if not errored:
        return
    left = due - view.now_ms if due else 0
    text = say_n(
        "%(n)s chunks wait for their next attempt: %(next)s.",
        "%(n)s chunks wait for their next attempt: %(next)s.",
        errored,
        next=say("the first one starts in %(time)s", time=span(left)) if left > 0 else say("the first one is due"),
    )
    yield bad(text, value=clock(due or 0), verb="retry_chunks", target=view.id)


def _active(view: ChunksView) -> Iterator[Finding]:
    if not view.counts["active"]:
        return
    holders = Counter(row.worker for row in view.stragglers)
    value = ", ".join(f"{worker}: {count}" for worker, count in holders.most_common(5))
    yield good(
        say_n("%(n)s chunks are running.", "%(n)s chunks are running.", view.counts["active"]),
        value=value,
    )
    longest = view.stragglers[0]
    text = say(
        "Chunk %(number)s has run for %(time)s, the longest of all.",
        number=str(longest.number),
        time=span(view.now_ms - longest.begun_ms),
    )
    yield good(text, value=longest.worker, target=longest.worker)


def _pending(view: ChunksView) -> Iterator[Finding]:
    pending, active, most = view.counts["pending"], view.counts["active"], view.max_parallel
    if not pending:
        return
    if most is not None and active >= most:
        text = say_n(
            "%(n)s chunks wait: the task runs at most %(most)s at once.",
            "%(n)s chunks wait: the task runs at most %(most)s at once.",
            pending,
            most=most,
        )
        yield bad(text, value=say("%(count)s of %(whole)s", count=active, whole=most))
        return
    pace = say("none was done in the last minute")
    if view.per_second:
        pace = say("%(count)s a second", count=Figure(f"{view.per_second:.1f}"))
    text = say_n(
        "%(n)s chunks wait for a worker, in turn with the other lanes of the pool.",
        "%(n)s chunks wait for a worker, in turn with the other lanes of the pool.",
        pending,
    )
    yield good(text, value=pace)
