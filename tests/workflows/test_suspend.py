"""A suspended run makes no step, whatever would make it ready: a due time, a lost worker, an operator."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from queueops import control, inspect, wf, workflow
from queueops.kinds.workflows.definition import WorkflowHandler
from queueops.kinds.workflows.handle import WorkflowHandle
from queueops.kinds.workflows.steps import encoded, make_step
from queueops.model.contracts import Outcome, RoundTrip, Settlement
from queueops.model.states import TERMINAL, State
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("memory")


@workflow(name="suspend.waits")
async def waits() -> str:
    """Waits for a signal."""
    return str(await wf.signal("go"))


def parked(run: WorkflowHandle[str]) -> None:
    """The run rests, makes no step, and ends after it is resumed."""
    run_worker()
    assert run.state == State.IDLE
    assert run.history() == []
    run.signal("go", "on")
    run_worker()
    assert run.state == State.IDLE
    assert run.resume()
    run_worker()
    assert run.result(timeout=0) == "on"
    assert list(get_broker().check("default", "").faults) == []


def leased(run: WorkflowHandle[str]) -> Settlement:
    """A worker has the run; the settlement with which it gives the lease back."""
    (lease,) = get_broker().exchange("default", "w1", RoundTrip(want=1)).leases
    assert lease.id == run.id
    return Settlement(lease.id, lease.fence, Outcome.RELEASE)


def settle(settlement: Settlement) -> None:
    """Give the lease back."""
    assert get_broker().exchange("default", "w1", RoundTrip(settle=[settlement])).settled == ["OK"]


def shown(run: WorkflowHandle[str]) -> str:
    """The names of what the list, the page and the record of a run have."""
    view, (facts,) = inspect.workflow_run(run.id), [row for row in inspect.workflow_runs().rows if row.id == run.id]
    record = get_broker().record("default", run.id)
    assert view is not None
    assert record is not None
    found = {"suspended_ms" for each in (view, facts) if each.suspended_ms is not None}
    return " ".join(sorted(found | {name for name in record.own if name == "suspended_since"}))


def test_a_delayed_run_rests_when_its_time_has_come() -> None:
    run = waits.using(delay=0.05).start()
    assert run.suspend()
    assert run.state == State.POSTPONED
    wait_until(lambda: run_worker() >= 0 and run.state != State.POSTPONED)
    parked(run)


def test_a_delayed_run_that_is_resumed_before_keeps_its_time() -> None:
    run = waits.using(delay=3600).start()
    assert run.suspend()
    assert run.resume()
    run_worker()
    assert run.state == State.POSTPONED


@pytest.mark.parametrize("verb", ["run_now", "retry"])
def test_an_operator_cannot_run_it_now(verb: str) -> None:
    run = waits.using(delay=3600).start()
    if verb == "retry":
        run.run_now()
        settle(Settlement(*_ids(leased(run)), Outcome.ERROR, b'{"type":"E","message":"m"}', 60_000))
    assert run.suspend()
    (row,) = getattr(control, verb)([run.id])
    assert row.word == "REFUSED"
    run_worker()
    assert run.history() == []


def _ids(settlement: Settlement) -> tuple[str, int]:
    return settlement.id, settlement.fence


def test_a_blocked_run_rests_at_its_next_attempt() -> None:
    run = waits.start()
    lease = leased(run)
    settle(Settlement(*_ids(lease), Outcome.SUCCESS, b'{"blocked": "a reason"}'))
    assert run.state == State.POSTPONED
    assert run.suspend()
    broker = get_broker()
    broker.client.zadd(broker.keys("default").agenda, {run.id: 1})
    parked(run)


@pytest.mark.parametrize("outcome", [Outcome.RELEASE, Outcome.CRASH])
def test_a_run_whose_worker_gives_it_back_rests(outcome: Outcome) -> None:
    run = waits.start()
    lease = leased(run)
    assert run.suspend()
    settle(Settlement(*_ids(lease), outcome, b"it was killed"))
    parked(run)


def test_a_reset_run_that_was_suspended_before_its_step_goes_on() -> None:
    run = waits.start()
    run_worker()
    again = run.reset(1)
    assert again.suspend()
    assert again.resume()
    again.signal("go", "on")
    run_worker()
    assert again.result(timeout=0) == "on"


def test_the_log_has_the_reason_of_a_suspension() -> None:
    run = waits.start()
    assert run.suspend("the price\ud800 is wrong")
    task = inspect.task(run.id)
    assert task is not None
    assert "the price? is wrong" in task.log[-1].text


@workflow(name="suspend.rounds")
async def rounds(left: int) -> str:
    """Continues as new after its first signal."""
    word = str(await wf.signal("go"))
    if left:
        wf.continue_as_new(left - 1)
    return word


def test_the_next_run_of_a_run_that_was_suspended_during_its_last_step_is_suspended() -> None:
    run = rounds.using(id="rounds").start(1)
    run_worker()
    run.signal("go", "first")
    (lease,) = get_broker().exchange("default", "w1", RoundTrip(want=1)).leases
    context: Any = SimpleNamespace(lease=lease, limit_s=60)
    step = encoded(make_step(context, cast(WorkflowHandler, rounds.handler).execution))
    assert run.suspend()
    settle(Settlement(lease.id, lease.fence, Outcome.SUCCESS, step))
    later = rounds.handle("rounds")
    assert later.id != run.id
    assert [row.id for row in inspect.workflow_runs("suspended").rows] == [later.id]
    parked(later)
    assert shown(run) == ""


@pytest.mark.parametrize("how", ["terminate", "hard", "reset", "step"])
def test_a_run_that_has_ended_is_not_suspended(how: str) -> None:
    run = waits.start()
    run_worker()
    if how == "step":  # it is suspended during its last step
        run.signal("go", "on")
        (lease,) = get_broker().exchange("default", "w1", RoundTrip(want=1)).leases
        context: Any = SimpleNamespace(lease=lease, limit_s=60)
        step = encoded(make_step(context, cast(WorkflowHandler, waits.handler).execution))
    assert run.suspend()
    assert shown(run) == "suspended_ms suspended_since"
    if how == "step":
        settle(Settlement(lease.id, lease.fence, Outcome.SUCCESS, step))
    elif how == "reset":
        assert shown(run.reset(1)) == ""
    elif how == "hard":
        run.cancel(hard=True)
    else:
        run.terminate()
    assert get_broker().record("default", run.id).state in TERMINAL
    assert shown(run) == ""
