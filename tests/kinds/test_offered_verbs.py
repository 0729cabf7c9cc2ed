"""What is offered for a record is not always refused: each verb of each state is tried, of tasks, jobs and runs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from queueops import activity, inspect, wf, workflow
from queueops.kinds.workflows.handle import WorkflowHandle
from queueops.model.contracts import Outcome
from queueops.model.states import table
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.kernel.desk import Desk, end

VALUES = {"postpone": "+60000", "move": "other", "priority": "3", "keep": "60000", "edit": "-"}
ENDS = {
    "restart": Outcome.ERROR,
    "failed": Outcome.ERROR,
    "succeeded": Outcome.SUCCESS,
    "quarantined": Outcome.QUARANTINE,
}
STATES = ["pending", "postponed", "locked", "cancelled", *ENDS]


@activity(name="offered.fails", retries=0)
def fails() -> None:
    """Fails."""
    raise ValueError("as told")


@workflow(name="offered.listens")
async def listens() -> None:
    """Waits for a signal, and ends as it says."""
    if await wf.signal("go") == "fail":
        await wf.call(fails)


@pytest.fixture
def desk(namespace: str) -> Desk:
    return Desk(get_broker())


def a_task(desk: Desk, kind: str, state: str) -> str:
    """A record of a kind that has come into a state."""
    retries = 1 if state == "restart" else 0
    desk.push("one", kind=kind, retries=retries, delay_ms=60_000 if state == "postponed" else None)
    if state == "cancelled":
        desk.control("cancel", "one")
    elif state in ("locked", *ENDS):
        lease = desk.lease()
        if state in ENDS:
            desk.exchange(settle=[end(lease, ENDS[state], b"", delay_ms=60_000)])
    return "one"


def begun() -> WorkflowHandle[None]:
    run = listens.start()
    run_worker()
    return run


def ended(word: str) -> WorkflowHandle[None]:
    run = begun()
    run.signal("go", word)
    run_worker()
    return run


def suspended() -> str:
    run = begun()
    run.suspend()
    return run.id


def suspended_and_due(desk: Desk) -> str:
    run = listens.using(delay=60).start()
    run.suspend()
    return run.id


def leased(desk: Desk) -> str:
    run = listens.start()
    desk.lease()
    return run.id


def was_reset() -> str:
    run = begun()
    run.reset(1)
    return run.id


def terminated() -> str:
    run = begun()
    run.terminate("no more")
    return run.id


RUNS: dict[str, Callable[[Desk], str]] = {
    "pending": lambda desk: listens.start().id,
    "postponed": lambda desk: listens.using(delay=60).start().id,
    "locked": leased,
    "idle": lambda desk: begun().id,
    "succeeded": lambda desk: ended("well").id,
    "failed": lambda desk: ended("fail").id,
    "cancelled": lambda desk: terminated(),
    "suspended": lambda desk: suspended(),
    "suspended with a due time": suspended_and_due,
    "reset": lambda desk: was_reset(),
}


def told(desk: Desk, id: str) -> tuple[set[str], set[str]]:
    """The verbs that the page of a task offers, and all of its state."""
    detail = inspect.task(id)
    assert detail is not None
    return set(detail.allowed), set(table().actions[detail.state])


@pytest.mark.parametrize("kind", ["task", "activity", "job", "callback", "file_deletion", "django_task"])
@pytest.mark.parametrize("state", STATES)
def test_each_verb_of_a_task_is_offered_and_done(desk: Desk, kind: str, state: str) -> None:
    offered, whole = told(desk, a_task(desk, kind, state))
    assert offered == whole
    assert desk.state("one") == state
    for verb in sorted(whole):
        desk.client.delete(*desk.client.keys(f"{desk.keys.prefix}:*"))
        word = desk.told(verb, a_task(desk, kind, state), value=VALUES.get(verb, ""))
        assert (verb, word) == (verb, "OK")


@pytest.mark.parametrize("state", RUNS)
def test_what_is_offered_for_a_run_is_done_and_the_rest_refused(desk: Desk, state: str) -> None:
    offered, whole = told(desk, RUNS[state](desk))
    refused = {"edit", "reinstate"} & whole
    if state.startswith("suspended"):
        refused |= {"run_now"} & whole
    if state == "reset":
        refused.add("retry")
    assert whole - offered == refused
    for verb in sorted(whole):
        desk.client.delete(*desk.client.keys(f"{desk.keys.prefix}:*"))
        word = desk.told(verb, RUNS[state](desk), value=VALUES.get(verb, ""))
        assert (verb, word) == (verb, "REFUSED" if verb in refused else "OK")
