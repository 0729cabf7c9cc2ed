"""Actions by workers: a bulk action of a terminal command that the engine performs, and the command follows."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from time import sleep
from typing import Any

import msgspec

from queueops import control, inspect
from queueops.control.verbs import FREEING, ON_TASKS
from queueops.inspect import Operation, TaskQuery
from queueops.inspect.alarm import manage
from queueops.inspect.selection import extent
from queueops.management.operator_command import CTRL_C
from queueops.management.queue import audit
from queueops.management.queue.formatting import printable, to_json

LOOKS_S, TELLS_EACH = 0.5, 4
"""Seconds between two looks at the operations. Each fourth one that has changed is told."""
MOST_FAILED = 2
"""After so many failed attempts of an operation without progress the command ends. Workers go on trying."""

Places = Sequence[tuple[str, str]]


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """A bulk action that workers can perform: at most `count` tasks that matched at `asked_ms`."""

    query: TaskQuery
    count: int
    exact: bool
    asked_ms: int


def planned(verb: str, query: TaskQuery) -> Planned | None:
    """The action, if it is on more than 500 tasks and a live worker would perform it in each pool."""
    if verb in ("restore", *FREEING) or not query.params() or query.id:  # no operation restores
        return None
    asked_ms = inspect.now_ms()
    found = extent(query)
    if found.count <= control.MOST or any(wait.never for wait in inspect.operation_waits(query)):
        return None
    if found.sample is not None:
        asked_ms = max(asked_ms, found.sample.entered_ms)  # the store's clock may have been set back
    return Planned(query=query, count=found.count, exact=found.exact, asked_ms=asked_ms)


def perform(verb: str, found: Planned, given: Mapping[str, Any]) -> Iterator[str]:
    """Begin the operations, follow them to their end, and report. Ctrl-C leaves them to the workers."""
    params = found.query.params()
    target = ", ".join(f"{name}={value}" for name, value in params.items())
    facts = {"verb": verb, "target": target, "filter": params, "reason": given.get("reason", "")}
    with audit.recorded(**facts, most=found.count) as act:
        how: dict[str, Any] = {"most": found.count, "asked_ms": found.asked_ms, "who": act.who, "token": act.token}
        begun = control.begin_operation(verb, found.query, **how, **ON_TASKS[verb].arguments(given))
        act.operations = list(begun)
    places = act.operations
    for broken in begun.broken:
        print(f"{broken} Nothing is begun there.", file=sys.stderr, flush=True)
    try:
        ended = _followed(places)
    except KeyboardInterrupt:
        print(_left(places), file=sys.stderr, flush=True)
        raise SystemExit(CTRL_C) from None
    yield to_json(ended) if given["as_json"] else "\n".join(_report(ended))
    if begun.broken or len(ended) < len(places) or any(_has_failed(each) for each in ended):
        raise SystemExit(1)


def _followed(places: Places) -> list[Operation]:
    """The operations at their end; meanwhile the progress is on the standard error."""
    told, looks = "", 0
    before: dict[str, Operation] = {}  # each as it was when it came to its present place
    while True:
        found = inspect.operations_of(places)
        known = [each for each in found.values() if each is not None]
        before = {each.id: _at_this_place(each, before) for each in known}
        if all(each.has_ended or _fails_for_long(each, before[each.id]) for each in known):
            return known
        if looks % TELLS_EACH == 0 and (text := _progress(known)) != told:
            print(text, file=sys.stderr, flush=True)
            told = text
        looks += 1
        sleep(LOOKS_S)


def _at_this_place(each: Operation, before: Mapping[str, Operation]) -> Operation:
    earlier = before.get(each.id)
    return each if earlier is None or earlier.seen != each.seen else earlier


def _fails_for_long(each: Operation, before: Operation) -> bool:
    return each.fails and each.attempts >= before.attempts + MOST_FAILED


def _progress(known: Sequence[Operation]) -> str:
    seen, changed, count = (sum(getattr(each, name) for each in known) for name in ("seen", "changed", "count"))
    text = f"{seen:,} of at most {count:,} checked, {changed:,} changed"
    rate = sum(each.rate for each in known if each.is_running)
    if error := next((each.error for each in known if each.fails), ""):
        return f"{text}; the last attempt failed: {printable(error)}"
    if any(each.is_paused for each in known):
        return f"{text}; paused"
    if all(each.began_ms is None for each in known):
        return f"{text}; waiting for a worker"
    return f"{text}; {rate:,.0f}/s, {max(0, count - seen) / rate:,.0f} s left" if rate else text


def _left(places: Places) -> str:
    """What Ctrl-C leaves, and how to see and to stop it."""
    lines = ["Workers go on with the action. Nothing is lost by the end of this command."]
    for pool, id in places:
        lines.append(f"  {manage('queue')} show {id} --pool {pool}")
        lines.append(f"  {manage('queue')} cancel {id} --pool {pool}    # stops it; what is changed stays changed")
    return "\n".join(lines)


def _report(ended: Sequence[Operation]) -> Iterator[str]:
    for each in ended:
        if each.left:
            yield f"Pool {each.pool}: {each.left:,} left as they are; the first: {printable(each.why)}"
        if each.is_cut:
            yield f"Pool {each.pool}: more match than the number that was confirmed."
        if each.fails and not each.has_ended:
            yield f"Pool {each.pool}: the operation {each.id} fails: {printable(each.error)}. Workers try again."
            stop = f"{manage('queue')} cancel {each.id} --pool {each.pool}"
            yield f"  {stop}    # stops it; what is changed stays changed"
        elif each.state != "succeeded":
            reason = printable(each.reason or each.error)
            yield f"Pool {each.pool}: the operation {each.id} is {each.state}: {reason}"
    yield f"{sum(each.changed for each in ended):,} of {sum(each.seen for each in ended):,} done"


def _has_failed(each: Operation) -> bool:
    return each.state != "succeeded" or each.left > 0 or each.is_cut
