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
        yield bad("The run is suspended. Resume it, and it keeps its due time.", since, target=detail.id)
    if record.get("y") == LEFT:
        text = (
            "The code of a worker does not fit the history of the run. The run is left to a worker with the code of its"
            " last step, which is alive. Without such a worker, the run is blocked."
        )
        yield bad(text, target=detail.id)
    if "vb" in record:
        times = maybe_whole(record.get("vc", "")) or 1
        since = _since(detail, maybe_whole(record["vb"]))
        attempts = f"{times:,} attempts have" if times > 1 else "1 attempt has"
        text = (
            f"The run is blocked {since}: its step cannot be made, and {attempts} failed. Remove the reason, such as by"
            " a deploy of code that fits its history. Then run it now, or reset it to an earlier step."
        )
        yield caused(text, record.get("y", ""), "run_now", detail.id)


def ended(detail: Detail, record: Mapping[str, str], state: State) -> Iterator[Finding]:
    """Nothing more than of any task."""
    return iter(())


def _waits(detail: Detail, record: Mapping[str, str]) -> Iterator[Finding]:
    if "vs" in record:
        since = _since(detail, maybe_whole(record["vs"]))
        text = "The run is suspended. Resume it, and it goes on with the events of its inbox."
        yield bad(text, since, target=detail.id)
        return
    for text in died_of(record):
        told = "A task of the code has failed, and no code awaits it. What it should do is not done any more."
        yield bad(told, text, target=detail.id)
    row = get_role(WorkflowCalls).run_row(detail.pool, detail.id)
    calls = list(row.calls.values()) if row else []
    places = [line for line in record.get("vw", "").split("\n") if line]
    since = _since(detail, detail.states.get(State.IDLE))
    signals = [line.removeprefix(SIGNAL) for line in places if line.startswith(SIGNAL)]
    for name in signals:
        yield bad(f"The run waits for the signal {name}.", since, target=detail.id)
    yield from _tasks(detail, "activity", [what for what in calls if what[:1] == "a"])
    yield from _tasks(detail, "child workflow", [what for what in calls if what[:1] == "c"])
    count = row.open if row else 0
    are_all = count <= len(calls)
    yield from _timers(detail, [what[1:] for what in calls if what[:1] == "t"], are_all=are_all)
    if not are_all:
        yield bad(f"The run waits for {count - len(calls):,} more commands, which are not read here.", target=detail.id)
    if not signals and not calls:
        yield bad("The run waits for an event.", since, target=detail.id)
    for line in places:
        if not line.startswith(SIGNAL):
            yield good("The code waits here.", value=line.replace(FRAME, " > "))


def _since(detail: Detail, at: int | None) -> str:
    return f"since {clock(at)}, for {span(detail.now - at)}" if at else ""


def _tasks(detail: Detail, kind: str, ids: Sequence[str]) -> Iterator[Finding]:
    """The open activities or children, the first ones by name."""
    store = get_role(WorkflowCalls)
    for pool, id in places_of_calls(store, detail.pool, ids[:MOST_NAMED]).values():
        elsewhere = pool if pool != detail.pool else ""
        record = store.record(pool, id)
        lost = f"on its way to the pool {elsewhere}" if elsewhere else f"which is gone: run `{manage('queue', 'fsck')}`"
        state = "to be retried" if record and record.state == State.RESTART else record.state if record else ""
        told = f"{record.name}, which is {state}" if record else lost
        waits = record is not None and (record.state == State.PENDING or record.state in TIMED)
        hint = f" {_obstacle(pool, id)}" if waits else ""
        yield bad(f"The run waits for the {kind} {told}.{hint}".rstrip(), value=id, target=id)
    if (more := len(ids) - MOST_NAMED) > 0:
        yield bad(f"The run waits for {more:,} more of the kind {kind}.", target=detail.id)


def _obstacle(pool: str, id: str) -> str:
    """What keeps an activity or a child from its start, such as that no worker takes its kind, or its next attempt."""
    return state_and_reason(pool, id)[1]


def _timers(detail: Detail, times: Sequence[str], *, are_all: bool) -> Iterator[Finding]:
    """The timer that fires next; of many commands only a part is read."""
    known = sorted(filter(None, map(maybe_whole, times)))
    if not known:
        return
    which = "The timer" if len(known) == 1 else f"The next of {len(known):,} timers"
    if not are_all:
        which = f"The next of the {len(known):,} timers that were read"
    left = known[0] - detail.now
    when = f"fires in {span(left)}" if left > 0 else f"was due {span(-left)} ago: no watchdog acts on the agenda"
    yield bad(f"{which} {when}.", value=clock(known[0]), target=detail.id)
