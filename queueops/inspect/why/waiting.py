"""Checks of a waiting task: its lane, the workers that can take it, and its time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from queueops.inspect.alarm import manage
from queueops.inspect.errors import read_failure, title
from queueops.inspect.estimates import UNKNOWN, Estimate, Model
from queueops.inspect.lane_labels import lane_label, remember
from queueops.inspect.snapshot import pool_sample
from queueops.inspect.spans import clock, span
from queueops.inspect.store import NOT_TAKING, UNRESPONSIVE
from queueops.inspect.why.findings import Finding, bad, caused, good
from queueops.inspect.workers import names_told, serves, takes_kind
from queueops.model import kinds
from queueops.model.expiry import moment_ms
from queueops.model.rates import WHOLE_TASK, shown
from queueops.model.states import State
from queueops.redis.query_replies import Beat, Detail, maybe_real, maybe_whole, text, whole


def ready_findings(detail: Detail) -> Iterator[Finding]:
    """Each condition for a start, and the position in the lane."""
    yield from _paused_name(detail)
    yield _lane(detail)
    yield from _slots(detail)
    yield from _rate(detail)
    record = detail.record
    if key := text(record.get(b"lk")):
        yield from key_findings(detail, key, maybe_whole(record.get(b"lm")), shown(maybe_real(record.get(b"lr")) or 0))
    yield from servers(detail)
    if detail.key_rank is None:
        yield _position(detail)
    yield from _expiry(detail)


def timed_findings(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding]:
    """When it is offered next, and what may keep it waiting then."""
    due = detail.due if detail.due is not None else whole(record.get("d"))
    left = due - detail.now
    workers = list(servers(detail))
    if state is State.RESTART:
        yield _backing_off(detail, record, left)
    elif record.get("uk") and left > 0 and any(not finding.ok for finding in workers):
        # A worker postponed it because it does not know the name: the time of the next offer is not the reason.
        yield from workers
        workers = []
        yield bad(
            f"A worker that does not know the task postponed it. It is ready again in {span(left)}.",
            clock(due),
            place="workers",
        )
    elif left > 0:
        yield bad(f"The task is postponed: due in {span(left)}.", value=clock(due), verb="run_now", target=detail.id)
    if reason := record.get("y"):
        yield bad("The task gave this reason for its delay.", value=reason)
    if left <= -2000:
        yield bad(
            f"The task was due {span(-left)} ago: no worker and no watchdog acts on the agenda.",
            value=clock(due),
            verb="run_now",
            target=detail.id,
        )
    yield _lane(detail)
    yield from workers
    yield from _expiry(detail)


def _expiry(detail: Detail) -> Iterator[Finding]:
    begun, created = detail.record.get(b"b"), whole(text(detail.record.get(b"c")))
    at = moment_ms(text(detail.record.get(b"xe")), created or min(detail.states.values(), default=detail.now))
    if at is not None and not begun:
        left = span(max(0, at - detail.now))
        yield good(f"It expires in {left}: then it is cancelled if it has not begun.", value=clock(at))


def servers(detail: Detail) -> Iterator[Finding]:
    """The workers that can take it: live, of the pool, not quiet, and with its name."""
    if not detail.workers:
        yield bad(
            f"No live worker serves the pool {detail.pool}; start `{manage('runworker', '--pool', detail.pool)}`.",
            value="0 live",
            target=detail.pool,
            place="workers",
        )
        return
    taking = [worker for worker in detail.workers if worker.fields.get("state") not in NOT_TAKING]
    count = f"{detail.alive} live"
    if not taking:
        told = "All live workers of its pool are quiet or ending, and claim no tasks."
        if any(worker.fields.get("state") in UNRESPONSIVE for worker in detail.workers):
            told = "No live worker of its pool claims tasks: each is silent, quiet or ending."
        yield bad(told, value=count, target=detail.pool, place="workers")
        return
    serving = [worker for worker in taking if serves(worker, detail.lane)]
    if not serving:
        yield bad(
            f"No live worker serves the lane {_label(detail)}: each was started with other --lanes.",
            value=count,
            target=f"{detail.pool}/{detail.lane}",
            place="workers",
        )
        return
    kind = text(detail.record.get(b"k")) or "task"
    taking = [worker for worker in serving if takes_kind(worker, kind)]
    if not taking:
        told = f"No live worker takes tasks of the kind {kind}: each was started with other --kinds."
        yield bad(told, value=count, target=detail.pool, place="workers")
        return
    yield good(f"Live workers serve the pool {detail.pool}.", value=count, target=detail.pool)
    yield from _name(detail, taking)
    yield _capacity(taking)


def _paused_name(detail: Detail) -> Iterator[Finding]:
    name = text(detail.record.get(b"n"))
    if detail.name_paused is not None:
        age = span(max(0, detail.now - detail.name_paused))
        told = f"All tasks of the name {name} are paused, for {age}. Resume the name, or type"
        command = manage("queue", "resume", "--name", name)
        yield bad(f"{told} `{command}`.", value="paused", verb="resume_name", target=name, place="name")
    elif detail.held is not None:
        yield bad(f"The name {name} was resumed. Its tasks return to their lanes, in parts.", value="returning")


def _label(detail: Detail) -> str:
    """What an operator reads for its lane."""
    remember(detail.lane, detail.conf.get("title", ""))
    return lane_label(detail.lane)


def _lane(detail: Detail) -> Finding:
    target = f"{detail.pool}/{detail.lane}"
    if detail.conf.get("paused") == "1":
        return bad(f"Its lane {_label(detail)} is paused.", value="paused", verb="resume_lane", target=target)
    return good(f"Its lane {_label(detail)} is not paused.", target=target)


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
        text = f"The rate limit of its lane, {rate}/s, is used up: free again in {left}."
        yield bad(text, clock(detail.token_at), "set_lane", target, place="lanes")
    elif rate is not None:
        yield good("Its lane's rate limit allows a start.", value=f"{rate}/s", target=target)


def key_findings(detail: Detail, key: str, limit: int | None, rate: str, chunks: int = 0) -> Iterator[Finding]:
    """Whether its key lets a task in, or so many chunks of it, and what has the turns of the key."""
    who, whose, has, waits = "It", "its", "has", "waits"
    if chunks:
        who, whose, has, waits = f"{chunks:,} chunks", "their", "have", "wait"
    what = f"{whose} limit" if key == WHOLE_TASK else f"{whose} key {key}"
    name = text(detail.record.get(b"n"))
    if detail.key_rank is None:
        yield good(f"{who} {has} a turn of {what}.", value=_of_limit(detail.key_running + detail.key_ready, limit))
        return
    behind = f" {detail.key_rank:,} of them come first." if detail.key_rank else " It is the next one."
    value = f"{detail.key_waiting:,} wait"
    if chunks:
        behind = f" {detail.key_rank:,} tasks come first." if detail.key_rank else " The task is the next one."
        value = f"{detail.key_waiting:,} tasks wait"
    if detail.key_token_at is not None:
        left = span(max(0, detail.key_token_at - detail.now))
        yield bad(
            f"{who} {waits} for {what}: its rate of {rate} allows a start in {left}.{behind}",
            value,
            target=name,
            place="name",
        )
        return
    holders = f" ({', '.join(detail.key_holders)})" if detail.key_holders else ""
    taken = f"{_of_limit(detail.key_running, limit)} run"
    if detail.key_ready:
        taken += f", {detail.key_ready:,} ready"
    yield bad(f"{who} {waits} for {what}: {taken}{holders}.{behind}", value, target=name, place="name")


def _of_limit(count: int, limit: int | None) -> str:
    return f"{count:,}" if limit is None else f"{count:,} of {limit:,}"


def _position(detail: Detail) -> Finding:
    """Its position in the lane, and when it starts by the model of its pool."""
    if detail.held is not None:
        return bad("The task is held back, with its place in its lane.", value=detail.lane)
    if detail.rank is None:
        return bad("The task is not in its lane.", value=detail.lane)
    place = f"{detail.rank + 1:,} of {detail.ready:,}"
    if not detail.rank:
        return good("The task is the next one of its lane.", value=place)
    told = _told(estimate_of(detail))
    return bad(f"Other tasks of its lane come first; {told}.", value=place, verb="priority", target=detail.id)


def estimate_of(detail: Detail) -> Estimate:
    """When a pending task starts, by the model of its pool, with its own lane as it is now."""
    sampled = pool_sample(detail.sampled, detail.pool, detail.now)
    others = [row for row in sampled["lanes"] or () if row["lane"] != detail.lane]
    names = next((row.get("names") for row in sampled["lanes"] or () if row["lane"] == detail.lane), None)
    own = {
        "lane": detail.lane,
        "ready": detail.ready,
        "active": detail.active,
        "limit": maybe_whole(detail.conf.get("limit")),
        "rate": maybe_real(detail.conf.get("rate")),
        "weight": whole(detail.conf.get("weight"), 1),
        "paused": detail.conf.get("paused") == "1",
        "names": names or {text(detail.record.get(b"n")): 1},
    }
    model = Model(detail.pool, sampled | {"lanes": [own, *others], "taken": detail.now}, detail.workers)
    return model.start(detail.lane, detail.rank or 0)


def _told(estimate: Estimate) -> str:
    if estimate.seconds is not None:
        return f"it starts in about {span(estimate.seconds * 1000)}"
    if estimate.reason == UNKNOWN:
        return "the time of its start is unknown, because no such task has run within half an hour"
    return f"it never starts: {estimate.reason}"


def _backing_off(detail: Detail, record: Mapping[str, str], left: int) -> Finding:
    tries = f"attempt {whole(record.get('at'))} of {whole(record.get('r')) + 1} failed"
    if crashes := whole(record.get("cr")):
        tries += f", {crashes} starts lost with their worker"
    when = f"the next one starts in {span(left)}" if left > 0 else "the next one is due"
    error = title(read_failure(detail.record.get(b"er", b"")))
    if record.get("k") in kinds.OWN_WORK:
        told = f"The task is one of QueueOps, and fails: {tries}; {when}. It goes on once the cause is mended."
        return caused(told, error or record.get("y", ""))
    return caused(f"The task waits for its next attempt: {tries}; {when}.", error, "run_now", detail.id)


def _name(detail: Detail, workers: list[Beat]) -> Iterator[Finding]:
    name = text(detail.record.get(b"n"))
    told = names_told(workers)
    if not told:
        return
    knowing = sum(name in names for names in told)
    if knowing:
        yield good(f"Workers know the task {name}.", value=f"{knowing} of {len(told)}")
    else:
        is_plain = (text(detail.record.get(b"k")) or "task") == "task"
        renamed = f' A renamed function keeps its name by @task(name="{name}").' if is_plain else ""
        yield bad(
            f"No live worker knows the task {name}. Deploy its code, and import it in a tasks.py.{renamed}"
            " Another project on this store needs a NAMESPACE of its own.",
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
