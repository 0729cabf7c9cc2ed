"""Checks of a waiting task: its lane, the workers that can take it, and its time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from queueops.inspect.alarm import manage
from queueops.inspect.errors import read_failure, title
from queueops.inspect.estimates import UNKNOWN, Estimate, Model
from queueops.inspect.lane_labels import lane_label, remember
from queueops.inspect.lane_origin import LaneOrigin, lane_origin, removal
from queueops.inspect.snapshot import pool_sample
from queueops.inspect.spans import clock, span
from queueops.inspect.store import NOT_TAKING, UNRESPONSIVE
from queueops.inspect.why.findings import Finding, bad, caused, good
from queueops.inspect.workers import names_told, serves, takes_kind
from queueops.model import kinds
from queueops.model.expiry import moment_ms
from queueops.model.rates import WHOLE_TASK, shown
from queueops.model.sentences import Figure, Sentence, join, say, say_n
from queueops.model.states import State
from queueops.redis.query_replies import Beat, Detail, maybe_real, maybe_whole, text, whole


def ready_findings(detail: Detail) -> Iterator[Finding]:
    """Each condition for a start, and the position in the lane."""
    yield from paused_name(detail)
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
        text = say("A worker that does not know the task postponed it. It is ready again in %(time)s.", time=span(left))
        yield bad(text, clock(due), place="workers")
    elif left > 0:
        yield bad(
            say("The task is postponed: due in %(time)s.", time=span(left)),
            value=clock(due),
            verb="run_now",
            target=detail.id,
        )
    if reason := record.get("y"):
        yield bad(say("The task gave this reason for its delay."), value=reason)
    if left <= -2000:
        yield bad(
            say("The task was due %(time)s ago: no worker and no watchdog acts on the agenda.", time=span(-left)),
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
        yield good(say("It expires in %(time)s: then it is cancelled if it has not begun.", time=left), clock(at))


def servers(detail: Detail) -> Iterator[Finding]:
    """The workers that can take it: live, of the pool, not quiet, and with its name."""
    if not detail.workers:
        yield bad(
            say(
                "No live worker serves the pool %(pool)s; start `%(command)s`.",
                pool=detail.pool,
                command=manage("runworker", "--pool", detail.pool),
            ),
            value=say("%(count)s live", count="0"),
            target=detail.pool,
            place="workers",
        )
        return
    taking = [worker for worker in detail.workers if worker.fields.get("state") not in NOT_TAKING]
    count = say("%(count)s live", count=str(detail.alive))
    if not taking:
        told = say("All live workers of its pool are quiet or ending, and claim no tasks.")
        if any(worker.fields.get("state") in UNRESPONSIVE for worker in detail.workers):
            told = say("No live worker of its pool claims tasks: each is silent, quiet or ending.")
        yield bad(told, value=count, target=detail.pool, place="workers")
        return
    serving = [worker for worker in taking if serves(worker, detail.lane)]
    if not serving:
        yield bad(
            say("No live worker serves the lane %(lane)s: each was started with other --lanes.", lane=_label(detail)),
            value=count,
            target=f"{detail.pool}/{detail.lane}",
            place="workers",
        )
        return
    kind = text(detail.record.get(b"k")) or "task"
    taking = [worker for worker in serving if takes_kind(worker, kind)]
    if not taking:
        told = say("No live worker takes tasks of the kind %(kind)s: each was started with other --kinds.", kind=kind)
        yield bad(told, value=count, target=detail.pool, place="workers")
        return
    if all(worker.fields.get("executor") for worker in taking):
        reason = taking[0].fields["executor"]
        told = say("No worker that serves it begins tasks: the executor is not available: %(reason)s", reason=reason)
        yield bad(told, value=count, target=detail.pool, place="workers")
        return
    yield good(say("Live workers serve the pool %(pool)s.", pool=detail.pool), value=count, target=detail.pool)
    yield from _name(detail, taking)
    yield _capacity(taking)


def paused_name(detail: Detail) -> Iterator[Finding]:
    """Whether its name is paused, or was until now."""
    name = text(detail.record.get(b"n"))
    if detail.name_paused is not None:
        age = span(max(0, detail.now - detail.name_paused))
        told = say(
            "All tasks of the name %(name)s are paused, for %(time)s. Resume the name, or type `%(command)s`.",
            name=name,
            time=age,
            command=manage("queue", "resume", "--name", name),
        )
        yield bad(told, value=say("paused"), verb="resume_name", target=name, place="name")
    elif detail.held is not None:
        told = say("The name %(name)s was resumed. Its tasks return to their lanes, in parts.", name=name)
        yield bad(told, value=say("returning"))


def _label(detail: Detail) -> str:
    """What an operator reads for its lane."""
    remember(detail.lane, detail.conf.get("title", ""))
    return lane_label(detail.lane)


def _lane(detail: Detail) -> Finding:
    target = f"{detail.pool}/{detail.lane}"
    if detail.conf.get("paused") == "1":
        text = say("Its lane %(lane)s is paused.", lane=_label(detail))
        return bad(text, value=say("paused"), verb="resume_lane", target=target)
    return good(say("Its lane %(lane)s is not paused.", lane=_label(detail)), target=target)


def _slots(detail: Detail) -> Iterator[Finding]:
    limit = maybe_whole(detail.conf.get("limit"))
    if limit is None:
        return
    value, target = _part(str(detail.active), str(limit)), f"{detail.pool}/{detail.lane}"
    if detail.active < limit:
        yield good(say("Its lane has a free slot."), value=value, target=target)
        return
    text = say("All slots of its lane are taken.")
    if detail.holders:
        text = say("All slots of its lane are taken by %(tasks)s.", tasks=", ".join(detail.holders))
    yield bad(join(text, _origin(detail, "limit")), value, "set_lane", target, place="lanes")


def _rate(detail: Detail) -> Iterator[Finding]:
    rate, target = detail.conf.get("rate"), f"{detail.pool}/{detail.lane}"
    if detail.token_at is not None:
        left = span(max(0, detail.token_at - detail.now))
        told = say(
            "The rate limit of its lane, %(rate)s/s, is used up: free again in %(time)s.", rate=str(rate), time=left
        )
        yield bad(join(told, _origin(detail, "rate")), clock(detail.token_at), "set_lane", target, place="lanes")
    elif rate is not None:
        yield good(say("Its lane's rate limit allows a start."), value=f"{rate}/s", target=target)


def _origin(detail: Detail, name: str) -> str:
    """Where the limit or the rate of its lane comes from, if that is not the settings."""
    conf = detail.conf
    values = {
        "limit": maybe_whole(conf.get("limit")),
        "rate": maybe_real(conf.get("rate")),
        "weight": maybe_whole(conf.get("weight")) or 1,
    }
    said = {field.removeprefix("said:"): value for field, value in conf.items() if field.startswith("said:")}
    word, restores = lane_origin(detail.pool, detail.lane, values, said)
    if name not in restores:
        return ""
    return removal(detail.pool, detail.lane, LaneOrigin(word, {name: restores[name]}))


def key_findings(detail: Detail, key: str, limit: int | None, rate: str, chunks: int = 0) -> Iterator[Finding]:
    """Whether its key lets a task in, or so many chunks of it, and what has the turns of the key."""
    rank, waiting, name = detail.key_rank, detail.key_waiting, text(detail.record.get(b"n"))
    what = say("its limit") if key == WHOLE_TASK else say("its key %(key)s", key=key)
    if chunks > 1:
        what = say("their limit") if key == WHOLE_TASK else say("their key %(key)s", key=key)
    if chunks:
        has = say_n("%(n)s chunk has a turn of %(key)s.", "%(n)s chunks have a turn of %(key)s.", chunks, key=what)
        waits = say_n("%(n)s chunk waits for %(key)s", "%(n)s chunks wait for %(key)s", chunks, key=what)
        behind = say_n("%(n)s task comes first.", "%(n)s tasks come first.", rank or 0)
        next_one, value = say("The task is the next one."), say_n("%(n)s task waits", "%(n)s tasks wait", waiting)
    else:
        has, waits = say("It has a turn of %(key)s.", key=what), say("It waits for %(key)s", key=what)
        behind = say_n("%(n)s of them comes first.", "%(n)s of them come first.", rank or 0)
        next_one, value = say("It is the next one."), say("%(count)s wait", count=waiting)
    if rank is None:
        yield good(has, value=_of_limit(detail.key_running + detail.key_ready, limit))
        return
    if detail.key_token_at is not None:
        left = span(max(0, detail.key_token_at - detail.now))
        told = say("%(waits)s: its rate of %(rate)s allows a start in %(time)s.", waits=waits, rate=rate, time=left)
    else:
        told = say(
            "%(waits)s: %(running)s run%(ready)s%(tasks)s.",
            waits=waits,
            running=_of_limit(detail.key_running, limit),
            ready=say(", %(count)s ready", count=detail.key_ready) if detail.key_ready else "",
            tasks=f" ({', '.join(detail.key_holders)})" if detail.key_holders else "",
        )
    yield bad(join(told, behind if rank else next_one), value, target=name, place="name")


def _of_limit(count: int, limit: int | None) -> str:
    return Figure(f"{count:,}") if limit is None else _part(count, limit)


def _part(count: str | int, whole: str | int) -> Sentence:
    return say("%(count)s of %(whole)s", count=count, whole=whole)


def _position(detail: Detail) -> Finding:
    """Its position in the lane, and when it starts by the model of its pool."""
    if detail.held is not None:
        return bad(say("The task is held back, with its place in its lane."), value=detail.lane)
    if detail.rank is None:
        return bad(say("The task is not in its lane."), value=detail.lane)
    place = _part(detail.rank + 1, detail.ready)
    if not detail.rank:
        return good(say("The task is the next one of its lane."), value=place)
    told = say("Other tasks of its lane come first; %(start)s.", start=_told(estimate_of(detail)))
    return bad(told, value=place, verb="priority", target=detail.id)


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


def _told(estimate: Estimate) -> Sentence:
    if estimate.seconds is not None:
        return say("it starts in about %(time)s", time=span(estimate.seconds * 1000))
    if estimate.reason == UNKNOWN:
        return say("the time of its start is unknown, because no such task has run within half an hour")
    return say("it never starts: %(reason)s", reason=estimate.reason)


def _backing_off(detail: Detail, record: Mapping[str, str], left: int) -> Finding:
    crashes = whole(record.get("cr"))
    lost = say_n(", %(n)s start lost with its worker", ", %(n)s starts lost with their worker", crashes)
    values = {
        "tries": say(
            "attempt %(attempt)s of %(allowed)s failed%(lost)s",
            attempt=str(whole(record.get("at"))),
            allowed=str(whole(record.get("r")) + 1),
            lost=lost if crashes else "",
        ),
        "next": next_attempt(left),
    }
    error = title(read_failure(detail.record.get(b"er", b"")))
    if record.get("k") in kinds.OWN_WORK:
        told = say(
            "The task is one of QueueOps, and fails: %(tries)s; %(next)s. It goes on once the cause is mended.",
            **values,
        )
        return caused(told, error or record.get("y", ""))
    return caused(
        say("The task waits for its next attempt: %(tries)s; %(next)s.", **values), error, "run_now", detail.id
    )


def next_attempt(left: int) -> Sentence:
    """When it starts, in so many milliseconds."""
    return say("the next one starts in %(time)s", time=span(left)) if left > 0 else say("the next one is due")


def _name(detail: Detail, workers: list[Beat]) -> Iterator[Finding]:
    name = text(detail.record.get(b"n"))
    told = names_told(workers)
    if not told:
        return
    knowing = sum(name in names for names in told)
    if knowing:
        yield good(say("Workers know the task %(name)s.", name=name), value=_part(str(knowing), str(len(told))))
        return
    unknown = say("No live worker knows the task %(name)s. Deploy its code, and import it in a tasks.py.", name=name)
    renamed = say('A renamed function keeps its name by @task(name="%(name)s").', name=name)
    is_plain = (text(detail.record.get(b"k")) or "task") == "task"
    other = say("Another project on this store needs a NAMESPACE of its own.")
    unknown = join(unknown, renamed if is_plain else "", other)
    yield bad(unknown, value=_part("0", str(len(told))), place="workers")


def _capacity(workers: list[Beat]) -> Finding:
    busy = sum(whole(worker.fields.get("busy")) for worker in workers)
    slots = sum(whole(worker.fields.get("slots")) for worker in workers)
    value = say("%(busy)s of %(slots)s busy", busy=str(busy), slots=str(slots))
    if slots and busy >= slots:
        return bad(say("All slots of the workers are busy."), value=value, place="workers")
    return good(say("Workers have free slots."), value=value)
