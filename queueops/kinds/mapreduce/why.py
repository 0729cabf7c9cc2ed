"""Diagnosis of map-reduce: why the reduce has not begun, and what a retry keeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain

from queueops.inspect.alarm import manage
from queueops.inspect.detail import find
from queueops.inspect.spans import clock, span
from queueops.inspect.store import NOT_TAKING
from queueops.inspect.why.findings import Finding, bad, good
from queueops.inspect.why.waiting import key_findings, next_attempt, paused_name, servers
from queueops.inspect.workers import serves, takes_kind
from queueops.kinds.mapreduce.details import goes_on_at
from queueops.kinds.mapreduce.inspect.overview import ChunksView, chunks_of, counts_of
from queueops.kinds.mapreduce.inspect.pages import chunk, reader_of
from queueops.kinds.mapreduce.inspect.rows import ChunkDetail
from queueops.kinds.mapreduce.states import AGGREGATING, ChunkState
from queueops.model.sentences import Figure, join, say, say_n
from queueops.model.states import State
from queueops.redis.query_replies import Detail, text

OPEN = {"failed": say("failed"), "errored": say("errored"), "active": say("active"), "pending": say("pending")}
"""The words for chunks that are not done."""


def part(id: str, pool: str) -> Iterator[Finding] | None:
    """What a chunk waits for, or why it does not wait; None if the id is not that of a chunk."""
    task_id, _, number = id.removesuffix("~").partition("#")
    detail = find(task_id, pool) if number.isascii() and number.isdigit() and len(number) < 10 else None
    row = chunk(task_id, int(number), detail.pool) if detail else None
    return None if detail is None or row is None else _of_chunk(detail, row)


def _of_chunk(detail: Detail, row: ChunkDetail) -> Iterator[Finding]:
    match row.state:
        case _ if not detail.record:
            yield bad(say("The task was deleted and is in the trash."), verb="restore", target=detail.id)
        case ChunkState.PENDING | ChunkState.ERRORED if row.task_state != AGGREGATING:
            text = say("Chunks begin while their task is %(state)s.", state=AGGREGATING)
            yield bad(text, value=row.task_state)
        case ChunkState.PENDING:
            yield from _of_pending(detail, row)
        case ChunkState.ERRORED:
            left = (row.due_ms or 0) - detail.now
            text = say("The chunk waits for its next attempt: %(next)s.", next=next_attempt(left))
            yield bad(text, value=clock(row.due_ms or 0))
        case ChunkState.ACTIVE:
            text = say("The chunk has run for %(time)s.", time=span(detail.now - (row.begun_ms or detail.now)))
            yield good(text, value=row.worker, target=row.worker)
        case _:
            yield good(say("The chunk has ended."), value=row.state)


def _of_pending(detail: Detail, row: ChunkDetail) -> Iterator[Finding]:
    if (view := chunks_of(detail.id, detail.pool, count=1)) is not None:
        yield from _held_up(view, detail)
        yield from _pending(view, detail)
    yield from servers(detail)
    if row.ahead:
        yield bad(say_n("%(n)s chunk of the task comes first.", "%(n)s chunks of the task come first.", row.ahead))
    else:
        yield good(say("The chunk is the next one of its task."))


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
    view = chunks_of(detail.id, detail.pool, count=1)
    if view is None:
        return
    done = say("%(done)s of %(total)s done", done=view.counts["done"], total=view.total)
    if not view.open:
        text = say(
            "All chunks have ended, but the reduce is not ready. Run `%(command)s`.", command=manage("queue", "fsck")
        )
        yield bad(text, value=done)
        return
    yield bad(say_n("The reduce waits for %(n)s chunk.", "The reduce waits for %(n)s chunks.", view.open), value=done)
    yield from _held_up(view, detail)
    yield from _failed(view)
    yield from _errored(view)
    yield from _active(view)
    yield from _pending(view, detail)


def _held_up(view: ChunksView, detail: Detail) -> Iterator[Finding]:
    """What lets no chunk of the task begin."""
    if view.paused:
        text = say("The task's lane is paused. Its chunks wait, too.")
        yield bad(text, value=say("paused"), verb="resume_lane", target=f"{detail.pool}/{detail.lane}")
    yield from paused_name(detail)
    if view.moving:
        yield bad(say("Chunks return to their lane. Workers claim none until this has ended."))


def _failed(view: ChunksView) -> Iterator[Finding]:
    failed, most = view.counts["failed"] - view.let_go, view.tolerated
    if failed <= 0:
        return
    limit = say("any number may fail") if most is None else say_n("%(n)s may fail", "%(n)s may fail", most)
    text = say_n("%(n)s chunk failed.", "%(n)s chunks failed.", failed)
    yield bad(text, value=limit, verb="retry_chunks", target=view.id)


def _errored(view: ChunksView) -> Iterator[Finding]:
    errored, due = view.counts["errored"], view.next_due_ms
    if not errored:
        return
    left = due - view.now_ms if due else 0
    text = say_n(
        "%(n)s chunk waits for its next attempt: %(next)s.",
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
        say_n("%(n)s chunk is running.", "%(n)s chunks are running.", view.counts["active"]),
        value=value,
    )
    longest = view.stragglers[0]
    text = say(
        "Chunk %(number)s has run for %(time)s, the longest of all.",
        number=str(longest.number),
        time=span(view.now_ms - longest.begun_ms),
    )
    yield good(text, value=longest.worker, target=longest.worker)


def _pending(view: ChunksView, detail: Detail) -> Iterator[Finding]:
    pending, active, most = view.counts["pending"], view.counts["active"], view.max_parallel
    if not pending:
        return
    if most is not None and active >= most:
        text = say_n(
            "%(n)s chunk waits: the task runs at most %(most)s at once.",
            "%(n)s chunks wait: the task runs at most %(most)s at once.",
            pending,
            most=most,
        )
        yield bad(text, value=say("%(count)s of %(whole)s", count=active, whole=most))
        return
    if view.key and not view.paused and not view.moving:
        yield from key_findings(detail, view.key, view.key_limit, view.key_rate, pending)
        if detail.key_rank is not None:
            return
    if view.per_worker is not None and _all_have(view, detail, view.per_worker):
        text = say_n(
            "%(n)s chunk waits: each worker has as many of the task as it may, %(most)s.",
            "%(n)s chunks wait: each worker has as many of the task as it may, %(most)s.",
            pending,
            most=view.per_worker,
        )
        yield bad(text, value="chunks_per_worker", place="workers")
        return
    pace = say("none was done in the last minute")
    if view.per_second:
        pace = say("%(count)s a second", count=Figure(f"{view.per_second:.1f}"))
    text = say_n(
        "%(n)s chunk waits for a worker, in turn with the other lanes of the pool.",
        "%(n)s chunks wait for a worker, in turn with the other lanes of the pool.",
        pending,
    )
    yield good(text, value=pace)


def _all_have(view: ChunksView, detail: Detail, most: int) -> bool:
    """Whether all live workers that take tasks of its lane and kind run so many chunks of the task."""
    lane, kind = detail.lane, text(detail.record.get(b"k"))
    live = (worker for worker in detail.workers if worker.fields.get("state") not in NOT_TAKING)
    taking = [worker.id for worker in live if serves(worker, lane) and takes_kind(worker, kind)]
    found = reader_of(view.id, view.pool) if taking else None
    counts = found[1].running_in(taking) if found else []
    return bool(counts) and min(counts) >= most
