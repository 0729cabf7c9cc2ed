"""Consistency check of calls of other pools: a call has a message on its way, or a task whose end will be told.

The order of the reads makes it exact while workers go on: first the messages of the run's pool, then the task, then the
messages of the task's pool, and at last whether the run still waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from queueops.kinds.workflows.store import WorkflowCalls, open_check
from queueops.kinds.workflows.store.run_store import far_call_of
from queueops.model.states import TERMINAL, table

PAGE = 500
"""About the most open commands in one call, as the check of the store counts them."""
Entry = tuple[str, str]
"""An entry of the consistency check, and the pool that is to examine it."""


def examine(broker: Any, pool: str, rest: str) -> Iterator[Entry]:
    """What is to be examined of a page of a run's open commands; ``rest``: its place in them, and the run."""
    store: WorkflowCalls = broker
    cursor, _, run = rest.partition(":")
    _, page = store.raw_calls(pool, run, int(cursor), PAGE)
    open_calls = {name[1:]: what for name, what in page.items() if name[:1] == "f" and name[1:].isdigit()}
    doubtful = {number: what for number, what in open_calls.items() if not _has_open_task(store, what)}
    sent = _told(store.messages(pool), "me", run) if doubtful else ()
    for number, what in doubtful.items():
        if number not in sent and (found := _lost(store, pool, run, number, what)) is not None:
            yield found


def _has_open_task(store: WorkflowCalls, what: str) -> bool:
    call = far_call_of(what)
    if call is None:
        return False
    _, record = store.last_of_chain(call.pool, call.task)
    return _is_open(record) and record.get("vk") == call.token


def _is_open(record: Mapping[str, str]) -> bool:
    return record.get("s") in table().classes and record["s"] not in TERMINAL


def _lost(store: WorkflowCalls, pool: str, run: str, number: str, what: str) -> Entry | None:
    """What is wrong with a command that has no message in its pool; None if it has a task that will tell its end."""
    call = far_call_of(what)
    if call is None:  # a signal
        lost = f"~lost:{number}::{run}"
    else:
        task, record = store.last_of_chain(call.pool, call.task)
        is_its = record.get("vk") == call.token
        if is_its and _is_open(record):
            return None
        if number in _told(store.messages(call.pool), "i", run):
            return None
        if is_its and record.get("s") in TERMINAL and store.is_waiting(pool, run, number, what):
            return call.pool, f"~unreported:{call.token}:{task}"
        lost = f"~lost:{number}:{call.token}:{run}"
    return (pool, lost) if store.is_waiting(pool, run, number, what) else None


def _told(messages: Iterable[dict[str, str]], field: str, run: str) -> set[str]:
    """The numbers of the commands of a run that messages are about."""
    return {each["cn"] for each in messages if each.get(field) == run and "cn" in each}


EXAMINED = {"far": examine, "open": open_check.examine}
