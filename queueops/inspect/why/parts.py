"""Checks of a task that waits for its chunks, its parts or its turn, or that is in quarantine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from queueops.inspect.chunk_overview import ChunksView, chunks_of
from queueops.inspect.spans import clock, span
from queueops.inspect.why.findings import Finding, bad, good
from queueops.inspect.why.waiting import servers
from queueops.model.states import State
from queueops.redis.query_replies import Detail, whole

_WAITING = "The task waits for the end of an earlier task."
_IDLE = "The task waits for its parts."


def parked_findings(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding]:
    """What the task waits for. Findings about chunks that an operator can repair come first."""
    if state is State.QUARANTINED:
        verb = "requeue" if b"s" in detail.record and b"n" in detail.record else "discard"
        reason = record.get("y") or "its record cannot be read"
        yield bad(
            "The task is quarantined, so that it blocks no other task.", value=reason, verb=verb, target=detail.id
        )
        return
    if state is State.AGGREGATING:
        yield from _aggregating(detail)
        yield from servers(detail)
        return
    text, value, whole_id = _parts(detail, record, state)
    shown = value or record.get("y", "")
    if whole_id:
        yield bad(text, value=shown, target=whole_id, place="parts")  # most of them wait in good health
    else:
        yield bad(text, value=shown, verb="cancel", target=detail.id)
    if parent := record.get("pi"):
        yield good("The task is part of another task.", value=parent, target=parent)


def _aggregating(detail: Detail) -> Iterator[Finding]:
    view, lane = chunks_of(detail.id, detail.pool, count=1), f"{detail.pool}/{detail.lane}"
    if view is None:
        return
    done = f"{view.counts['done']:,} of {view.total:,} done"
    if not view.open:
        yield bad("All chunks have ended, but the reduce is not ready. Run `manage.py queue fsck`.", value=done)
        return
    yield bad(f"The reduce waits for {view.open:,} chunks.", value=done)
    if view.paused:
        yield bad("The task's lane is paused, so its chunks wait too.", value="paused", verb="resume_lane", target=lane)
    if view.moving:
        yield bad("Chunks are being made ready again. Workers claim no chunk until this has ended.")
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


def _pending(view: ChunksView) -> Iterator[Finding]:
    pending, active, most = view.counts["pending"], view.counts["active"], view.max_parallel
    if not pending:
        return
    if most is not None and active >= most:
        yield bad(f"{pending:,} chunks wait: the task runs at most {most:,} at once.", value=f"{active:,} of {most:,}")
        return
    pace = "none was done in the last minute" if not view.per_second else f"{view.per_second:.1f} a second"
    yield good(f"{pending:,} chunks wait for a worker, in turn with the other lanes of the pool.", value=pace)


def _parts(detail: Detail, record: Mapping[str, str], state: State) -> tuple[str, str, str]:
    """The text for a waiting parent task, the value that was read, and the task whose parts show more."""
    if state is State.WAITING:
        return _turn(detail, record)
    kind = record.get("k")
    if kind == "iterator":
        ended, total = whole(record.get("pr")), whole(record.get("to"))
        return (
            f"The task waits for its parts: {ended:,} of {total:,} so far have ended.",
            f"{detail.open:,} open",
            detail.id,
        )
    if kind in ("chain", "group") and "cc" in record:
        total = whole(record["cc"])
        ended = max(0, total - detail.open)
        return f"The task waits for its parts: {ended:,} of {total:,} have ended.", f"{detail.open:,} open", detail.id
    return _IDLE, "", ""


def _turn(detail: Detail, record: Mapping[str, str]) -> tuple[str, str, str]:
    """The finding for a part that waits for its turn in its parent task, or whose parent is gone."""
    if not record.get("pi"):
        return _WAITING, "", ""
    if record.get("pp") or detail.parent_state:
        return (
            f"The part waits for its turn in {detail.parent_name or record['pi']}.",
            detail.parent_state,
            record["pi"],
        )
    return "The part waits for its turn, but its parent task does not exist any more.", record["pi"], ""
