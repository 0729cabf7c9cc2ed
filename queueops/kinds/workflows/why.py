"""Diagnosis of runs: what a waiting run waits for, since when, and when its next timer fires."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from queueops.inspect.alarm import manage
from queueops.inspect.spans import clock, span
from queueops.inspect.why import state_and_reason
from queueops.inspect.why.findings import Finding, bad, caused, good
from queueops.kinds.workflows.inspect.run_calls import places_of_calls
from queueops.kinds.workflows.inspect.run_list import died_of
from queueops.kinds.workflows.replay.step import FRAME
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.model.sentences import join, say, say_n
from queueops.model.states import TIMED, State
from queueops.redis.broker import get_role
from queueops.redis.query_replies import Detail, maybe_whole

RUN = "workflow"
SIGNAL = "signal "
LEFT = "its last step was made by other code, and a worker with that code is alive"
"""The reason of a run that is left to such a worker, as `run_code.lua` writes it."""
MOST_NAMED = 5
"""The most open activities and children that are named."""


def parked(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding] | None:
    """What an idle run waits for; None for other tasks."""
    if record.get("k") == RUN and state is State.IDLE:
        return _waits(detail, record)
    return None


def waiting(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding]:
    """Why a ready or timed run makes no step: it is suspended, or its last step could not be made."""
    if record.get("k") != RUN:
        return
    if "vs" in record:
        since = _since(detail, maybe_whole(record["vs"]))
        yield bad(say("The run is suspended. Resume it, and it keeps its due time."), since, target=detail.id)
    if record.get("y") == LEFT:
        text = say(
            "The code of a worker does not fit the history of the run. The run is left to a worker with the code of its"
            " last step, which is alive. Without such a worker, the run is blocked."
        )
        yield bad(text, target=detail.id)
    if "vb" in record:
        times = maybe_whole(record.get("vc", "")) or 1
        since = _since(detail, maybe_whole(record["vb"]))
        text = say_n(
            "The run is blocked %(since)s: its step cannot be made, and %(n)s attempt has failed. Deploy code that fits"
            " its history first, then run it now. To run it now without that makes the same step with the same code,"
            " and fails again. Or reset it to an earlier step.",
            "The run is blocked %(since)s: its step cannot be made, and %(n)s attempts have failed. Deploy code that"
            " fits its history first, then run it now. To run it now without that makes the same step with the same"
            " code, and fails again. Or reset it to an earlier step.",
            times,
            since=since,
        )
        yield caused(text, record.get("y", ""), "run_now", detail.id)


def ended(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding]:
    """Nothing more than of any task."""
    return iter(())


def _waits(detail: Detail, record: Mapping[str, str]) -> Iterator[Finding]:
    if "vs" in record:
        since = _since(detail, maybe_whole(record["vs"]))
        told = say("The run is suspended. Resume it, and it goes on with the events of its inbox.")
        yield bad(told, since, target=detail.id)
        return
    for text in died_of(record):
        told = say("A task of the code has failed, and no code awaits it. What it should do is not done any more.")
        yield bad(told, text, target=detail.id)
    row = get_role(WorkflowCalls).run_row(detail.pool, detail.id)
    calls = list(row.calls.values()) if row else []
    places = [line for line in record.get("vw", "").split("\n") if line]
    since = _since(detail, detail.states.get(State.IDLE))
    signals = [line.removeprefix(SIGNAL) for line in places if line.startswith(SIGNAL)]
    for name in signals:
        yield bad(say("The run waits for the signal %(name)s.", name=name), since, target=detail.id)
    yield from _tasks(detail, is_child=False, ids=[what for what in calls if what[:1] == "a"])
    yield from _tasks(detail, is_child=True, ids=[what for what in calls if what[:1] == "c"])
    count = row.open if row else 0
    are_all = count <= len(calls)
    yield from _timers(detail, [what[1:] for what in calls if what[:1] == "t"], are_all=are_all)
    if not are_all:
        told = say("The run waits for %(count)s more commands, which are not read here.", count=count - len(calls))
        yield bad(told, target=detail.id)
    if not signals and not calls:
        yield bad(say("The run waits for an event."), since, target=detail.id)
    for line in places:
        if not line.startswith(SIGNAL):
            yield good(say("The code waits here."), value=line.replace(FRAME, " > "))


def _since(detail: Detail, at: int | None) -> str:
    return say("since %(moment)s, for %(time)s", moment=clock(at), time=span(detail.now - at)) if at else ""


def _tasks(detail: Detail, *, is_child: bool, ids: Sequence[str]) -> Iterator[Finding]:
    """The open activities or children, the first ones by name."""
    store = get_role(WorkflowCalls)
    for pool, id in places_of_calls(store, detail.pool, ids[:MOST_NAMED]).values():
        elsewhere = pool if pool != detail.pool else ""
        record = store.record(pool, id)
        told = say("which is gone: run `%(command)s`", command=manage("queue", "fsck"))
        if record:
            state = say("to be retried") if record.state == State.RESTART else record.state
            told = say("%(name)s, which is %(state)s", name=record.name, state=state)
        elif elsewhere:
            told = say("on its way to the pool %(pool)s", pool=elsewhere)
        waits = record is not None and (record.state == State.PENDING or record.state in TIMED)
        text = say("The run waits for the activity %(task)s.", task=told)
        if is_child:
            text = say("The run waits for the child workflow %(task)s.", task=told)
        yield bad(join(text, _obstacle(pool, id) if waits else ""), value=id, target=id)
    if (more := len(ids) - MOST_NAMED) > 0:
        text = say("The run waits for %(count)s more of the kind activity.", count=more)
        if is_child:
            text = say("The run waits for %(count)s more of the kind child workflow.", count=more)
        yield bad(text, target=detail.id)


def _obstacle(pool: str, id: str) -> str:
    """What keeps an activity or a child from its start, such as that no worker takes its kind, or its next attempt."""
    return state_and_reason(pool, id)[1]


def _timers(detail: Detail, times: Sequence[str], *, are_all: bool) -> Iterator[Finding]:
    """The timer that fires next; of many commands only a part is read."""
    known = sorted(filter(None, map(maybe_whole, times)))
    if not known:
        return
    which = say("The timer") if len(known) == 1 else say("The next of %(count)s timers", count=len(known))
    if not are_all:
        which = say("The next of the %(count)s timers that were read", count=len(known))
    left = known[0] - detail.now
    text = say("%(timer)s fires in %(time)s.", timer=which, time=span(left))
    if left <= 0:
        text = say("%(timer)s was due %(time)s ago: no watchdog acts on the agenda.", timer=which, time=span(-left))
    yield bad(text, value=clock(known[0]), target=detail.id)
