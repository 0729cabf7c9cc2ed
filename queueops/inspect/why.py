"""Diagnosis: why a task is not running. Checks in order, each with the value that was read and its remedy."""

from __future__ import annotations

from collections.abc import Iterator

from queueops.inspect.detail import fields_of, find, state_of
from queueops.inspect.errors import read_failure, title
from queueops.inspect.findings import bad, good
from queueops.inspect.models import Finding
from queueops.inspect.spans import clock, span
from queueops.inspect.store import LATE_MS, NOT_TAKING, UNRESPONSIVE
from queueops.inspect.why_chunks import aggregating_findings
from queueops.inspect.why_ended import ended_findings
from queueops.inspect.why_parts import parts_finding
from queueops.model.states import CLASSES, ON_AGENDA, State, StateClass
from queueops.redis.query_replies import Beat, Detail, maybe_whole, text, whole

MOST_NAMES = 200
"""The most task names in a heartbeat; a list of that length may be cut, and proves nothing."""


def why(id: str, pool: str = "") -> list[Finding]:
    """Every check for this task, in order. The first that failed is the reason."""
    detail = find(id, pool)
    if detail is None:
        gone = "There is no task of this id: it never was, it was deleted for good, or its retention ended."
        return [bad(gone, value=id)]
    if not detail.record and not detail.states:
        return [bad("It was deleted and lies in the trash.", verb="restore", target=id)]
    return findings_of(detail)


def findings_of(detail: Detail) -> list[Finding]:
    """Every check for a task whose record was read."""
    return list(_findings(detail))


def _findings(detail: Detail) -> Iterator[Finding]:
    if detail.broken:
        reason = "Another program wrote to keys of its pool, which count as empty here: delete them, or restore them."
        yield bad(reason, value="; ".join(detail.broken))
    yield from _indexes(detail)
    state = state_of(detail)
    if state not in CLASSES:
        yield bad("Its state is none that this version knows.", value=state)
        return
    match CLASSES[State(state)]:
        case StateClass.READY:
            yield from _ready(detail)
        case StateClass.TIMED:
            yield from _timed(detail, State(state))
        case StateClass.LEASED:
            yield from _leased(detail)
        case StateClass.PARKED:
            yield from _parked(detail, State(state))
        case StateClass.TERMINAL:
            yield from ended_findings(detail, fields_of(detail), State(state))


def _indexes(detail: Detail) -> Iterator[Finding]:
    """Whether the indexes agree with the record: workers and readers find a task only by its indexes."""
    state, named = state_of(detail), ", ".join(sorted(detail.states)) or "none"
    if set(detail.states) != {state}:
        yield bad(
            "The state indexes don't agree with its record; run `manage.py queue fsck`.",
            value=f"record: {state or 'none'}, indexes: {named}",
        )
    if state == State.PENDING and detail.rank is None:
        yield bad("It is ready, but no lane holds it; run `manage.py queue fsck`.", value=detail.lane)
    if state in ON_AGENDA and detail.due is None:
        yield bad("Nothing is scheduled for it; run `manage.py queue fsck`.", value="not on the agenda")


# Ready


def _ready(detail: Detail) -> Iterator[Finding]:
    yield _lane(detail)
    yield from _slots(detail)
    yield from _rate(detail)
    yield from _servers(detail)
    yield _position(detail)


def _lane(detail: Detail) -> Finding:
    target = f"{detail.pool}/{detail.lane}"
    if detail.conf.get("paused") == "1":
        return bad(f"Its lane {detail.lane} is paused.", value="paused", verb="resume_lane", target=target)
    return good(f"Its lane {detail.lane} is not paused.", target=target)


def _slots(detail: Detail) -> Iterator[Finding]:
    limit = maybe_whole(detail.conf.get("limit"))
    if limit is None:
        return
    value, target = f"{detail.active} of {limit}", f"{detail.pool}/{detail.lane}"
    if detail.active < limit:
        yield good("Its lane has a free slot.", value=value, target=target)
    else:
        holders = f" by {', '.join(detail.holders)}" if detail.holders else ""
        yield bad(f"All slots of its lane are taken{holders}.", value, "set_lane", target, place="lanes")


def _rate(detail: Detail) -> Iterator[Finding]:
    rate, target = detail.conf.get("rate"), f"{detail.pool}/{detail.lane}"
    if detail.token_at is not None:
        left = span(max(0, detail.token_at - detail.now))
        text = f"Its lane's rate limit of {rate}/s is used up: free again in {left}."
        yield bad(text, clock(detail.token_at), "set_lane", target, place="lanes")
    elif rate is not None:
        yield good("Its lane's rate limit allows a start.", value=f"{rate}/s", target=target)


def _servers(detail: Detail) -> Iterator[Finding]:
    """The workers that can take it: live, of the pool, not quiet, and with its name."""
    if not detail.workers:
        yield bad(
            f"No live worker serves the pool {detail.pool}; start `manage.py runworker`.",
            value="0 live",
            target=detail.pool,
            place="workers",
        )
        return
    taking = [worker for worker in detail.workers if worker.fields.get("state") not in NOT_TAKING]
    count = f"{detail.alive} live"
    if not taking:
        told = "All live workers of its pool were told to take no more work."
        if any(worker.fields.get("state") in UNRESPONSIVE for worker in detail.workers):
            told = "No live worker of its pool takes work: each gives no sign of life, or was told to take no more."
        yield bad(told, value=count, target=detail.pool, place="workers")
        return
    yield good(f"Live workers serve the pool {detail.pool}.", value=count, target=detail.pool)
    yield from _name(detail, taking)
    yield _capacity(taking)


def _name(detail: Detail, workers: list[Beat]) -> Iterator[Finding]:
    name = text(detail.record.get(b"n"))
    told = [worker.fields["names"].split(",") for worker in workers if worker.fields.get("names")]
    if not told or len(told) < len(workers) or any(len(names) >= MOST_NAMES for names in told):
        return
    knowing = sum(name in names for names in told)
    if knowing:
        yield good(f"Workers know the name {name}.", value=f"{knowing} of {len(told)}")
    else:
        yield bad(
            f"No live worker knows the name {name}; is the code deployed, and imported by a tasks.py?",
            value=f"0 of {len(told)}",
            place="workers",
        )


def _capacity(workers: list[Beat]) -> Finding:
    busy = sum(whole(worker.fields.get("busy")) for worker in workers)
    slots = sum(whole(worker.fields.get("slots")) for worker in workers)
    value = f"{busy} of {slots} busy"
    if slots and busy >= slots:
        return bad("All slots of the workers are busy.", value=value, place="workers")
    return good("Workers have free slots.", value=value)


def _position(detail: Detail) -> Finding:
    """Its position in the lane, and when it may start at the rate of the last two minutes."""
    if detail.rank is None:
        return bad("It has no place in its lane.", value=detail.lane)
    place = f"{detail.rank + 1:,} of {detail.ready:,}"
    if not detail.rank:
        return good("It is the next one of its lane.", value=place)
    pace = detail.started / 120
    estimate = "; nothing starts"
    if pace:
        estimate = f"; at the pace of the last two minutes it starts in about {span(detail.rank / pace * 1000)}"
    return bad(f"Others of its lane come first{estimate}.", value=place, verb="priority", target=detail.id)


# Timed, leased, parked


def _timed(detail: Detail, state: State) -> Iterator[Finding]:
    record = fields_of(detail)
    due = detail.due if detail.due is not None else whole(record.get("d"))
    left = due - detail.now
    servers = list(_servers(detail))
    if state is State.RESTART:
        yield _backing_off(detail, record, left)
    elif record.get("uk") and left > 0 and any(not finding.ok for finding in servers):
        # A worker postponed it because it does not know the name: the time of the next offer is not the reason.
        yield from servers
        servers = []
        yield bad(f"A worker put it off. It is offered again in {span(left)}.", clock(due), place="workers")
    elif left > 0:
        yield bad(f"It is postponed: due in {span(left)}.", value=clock(due), verb="run_now", target=detail.id)
    if reason := record.get("y"):
        yield bad("What was said when it was put off.", value=reason)
    if left <= -2000:
        yield bad(
            f"It was due {span(-left)} ago: no worker and no watchdog looks at the agenda.",
            value=clock(due),
            verb="run_now",
            target=detail.id,
        )
    yield _lane(detail)
    yield from servers


def _backing_off(detail: Detail, record: dict[str, str], left: int) -> Finding:
    tries = f"attempt {whole(record.get('at'))} of {whole(record.get('r')) + 1} failed"
    if crashes := whole(record.get("cr")):
        tries += f", {crashes} starts were lost with their worker"
    when = f"the next one starts in {span(left)}" if left > 0 else "the next one is due"
    error = title(read_failure(detail.record.get(b"er", b"")))
    return bad(f"It backs off: {tries}; {when}.", value=error, verb="run_now", target=detail.id)


def _leased(detail: Detail) -> Iterator[Finding]:
    record = fields_of(detail)
    begun, worker = whole(record.get("b")), record.get("w", "?")
    yield good(f"It has run for {span(detail.now - begun)}.", value=worker, target=worker)
    yield _holder(detail, worker)
    left = (detail.due or 0) - detail.now
    if left < 0:
        tick = (
            f"the last watchdog came {span(detail.now - detail.tick)} ago" if detail.tick else "no watchdog ever came"
        )
        yield bad(
            f"Its lease ended {span(-left)} ago; {tick}.",
            value=clock(detail.due or 0),
            verb="release",
            target=detail.id,
        )
    else:
        yield good(f"Its lease lasts {span(left)} more unless it is extended.", value=clock(detail.due or 0))
    if reason := record.get("x"):
        text = (
            "It was asked to stop, and has not yet: a function that is not async has to look at current().cancelled."
            " Cancelled hard it is interrupted, or killed with its process. It can be released, too: that takes it from"
            " its worker; what it does goes on there, and counts no more."
        )
        yield bad(text, value=reason, verb="release", target=detail.id)


def _holder(detail: Detail, worker: str) -> Finding:
    if detail.beat is None:
        return bad(
            "Its worker is not in the registry; the task is recovered when the lease ends.",
            value=worker,
            verb="release",
            target=detail.id,
        )
    age = detail.now - detail.beat
    where = f"{detail.host} " if detail.host else ""
    if age > LATE_MS:
        return bad(
            f"The worker that holds it has not beaten for {span(age)}.",
            value=where + worker,
            verb="release",
            target=detail.id,
            place="workers",
        )
    if detail.condition in UNRESPONSIVE:
        return _unresponsive(detail, where + worker)
    return good(f"The worker that holds it is alive: it beat {span(age)} ago.", value=where + worker)


def _unresponsive(detail: Detail, worker: str) -> Finding:
    """The process of the task cannot run Python code: a task holds the interpreter lock, or it is stopped."""
    silent = span(detail.now - (detail.silent_since or detail.now))
    text = (
        f"The worker process that holds it has given no sign of life for {silent}: a task in it holds the interpreter,"
        " or the process is stopped."
    )
    if detail.condition == "hung":
        text += " It is hung and is about to be killed."
    else:
        text += " Its supervisor renews the lease. After HUNG_AFTER the process is killed."
    return bad(text, value=worker, verb="interrupt", target=detail.id, place="workers")


def _parked(detail: Detail, state: State) -> Iterator[Finding]:
    record = fields_of(detail)
    if state is State.QUARANTINED:
        verb = "requeue" if b"s" in detail.record and b"n" in detail.record else "discard"
        reason = record.get("y") or "its record can't be read"
        yield bad("It is quarantined, so that it blocks no other task.", value=reason, verb=verb, target=detail.id)
        return
    if state is State.AGGREGATING:
        yield from aggregating_findings(detail.id, detail.pool, f"{detail.pool}/{detail.lane}")
        yield from _servers(detail)
        return
    text, value, whole_id = parts_finding(detail, record, state)
    shown = value or record.get("y", "")
    if whole_id:
        yield bad(text, value=shown, target=whole_id, place="parts")  # most of them wait in good health
    else:
        yield bad(text, value=shown, verb="cancel", target=detail.id)
    if parent := record.get("pi"):
        yield good("It belongs to another task.", value=parent, target=parent)
