"""How the code of a run ends: what it raises in a task group, and what is no failure of the code."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from queueops import activity, wf, workflow
from queueops.eager.execution import run as run_lease
from queueops.errors import TaskCancelled, TaskFailed
from queueops.errors.workflows import ChildFailed
from queueops.kinds.workflows.handle import WorkflowHandle
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.kinds.workflows.testing.environment_run import EnvironmentRun
from queueops.model.contracts import Outcome, RoundTrip, Settlement
from queueops.model.states import State
from queueops.redis.broker import get_broker, get_role
from queueops.testing import WorkflowEnvironment, run_worker
from tests.composites.channel import CHANNEL

pytestmark = pytest.mark.usefixtures("memory")
behaviour: dict[str, Callable[[], Any]] = {}


@activity(name="endings.one", retries=0)
def one() -> int:
    """An activity."""
    return 1


@workflow(name="endings.any")
async def any_code(round: int = 0) -> Any:
    """Does what the test says."""
    return await behaviour["code"]() if round == 0 else f"round {round}"


@pytest.fixture(autouse=True)
def _clean(namespace: str) -> Iterator[None]:
    yield
    behaviour.clear()


def run_of(code: Callable[[], Any]) -> WorkflowHandle[Any]:
    """A run of this code, after its steps."""
    behaviour["code"] = code
    run = any_code.start()
    run_worker()
    return run


def reason_of(run: WorkflowHandle[Any]) -> str:
    """Why a run is blocked."""
    assert run.state == State.POSTPONED
    row = get_role(WorkflowCalls).run_row("default", run.id)
    assert row is not None
    return row.fields["y"]


async def _in_groups(*codes: Callable[[], Any]) -> None:
    async with asyncio.TaskGroup() as outer:
        outer.create_task(_in_group(*codes))


async def _in_group(*codes: Callable[[], Any]) -> None:
    async with asyncio.TaskGroup() as inner:
        for code in codes:
            inner.create_task(code())


async def _refused() -> None:
    await wf.call(one)
    await asyncio.to_thread(str)


async def _queries() -> None:
    from django.contrib.auth import get_user_model

    get_user_model().objects.count()


async def _continues() -> None:
    await wf.call(one)
    wf.continue_as_new(2)


async def _raises() -> None:
    raise ValueError("no stock")


async def _exits() -> None:
    await wf.call(one)
    sys.exit("enough")


async def _waits() -> None:
    await wf.signal("never")


@workflow(name="endings.cleans")
async def cleans() -> None:
    """Cleans up in a step of its own when it is cancelled."""
    try:
        await wf.signal("never")
    finally:
        await wf.call(one)


@workflow(name="endings.parent_of_cleans")
async def parent_of_cleans() -> str:
    """The error of a child that was cancelled."""
    try:
        await wf.child(cleans.using(id="inner"))
    except ChildFailed as error:
        return f"{error.type}: {error.message}"
    return "?"


@pytest.mark.parametrize("group", [_in_group, _in_groups])
@pytest.mark.parametrize(
    ("code", "reason"),
    [(_refused, "A thread or an executor cannot be used"), (_queries, "Django's ORM cannot be used")],
)
def test_a_refused_function_in_a_task_group_blocks(group: Any, code: Any, reason: str) -> None:
    run = run_of(lambda: group(_waits, code))
    assert reason in reason_of(run)


def test_a_refused_function_beside_an_error_of_the_code_blocks() -> None:
    async def both() -> None:
        await wf.call(one)
        await _in_group(_raises, _refused_at_once)

    assert "A thread or an executor cannot be used" in reason_of(run_of(both))


async def _refused_at_once() -> None:
    await asyncio.to_thread(str)


@pytest.mark.parametrize("group", [_in_group, _in_groups])
def test_a_run_continues_as_new_from_a_task_group(group: Any) -> None:
    run = run_of(lambda: group(_waits, _continues))
    assert run.result(timeout=0) == "round 2"


def test_an_error_of_the_code_beside_it_fails_the_run() -> None:
    run = run_of(lambda: _in_group(_continues_at_once, _raises))
    with pytest.raises(TaskFailed, match="sub-exception"):
        run.result(timeout=0)


async def _continues_at_once() -> None:
    wf.continue_as_new(2)


def test_the_reason_of_a_cancel_is_that_of_the_run_and_is_told_to_its_parent() -> None:
    run, tested = cleans.start(), WorkflowEnvironment().start(cleans)
    run_worker()
    run.cancel("wrong order")
    tested.cancel("wrong order")
    run_worker()
    outer, tested_outer = parent_of_cleans.start(), WorkflowEnvironment()
    run_worker()
    cleans.handle("inner").cancel("no stock")
    run_worker()
    inner = tested_outer.start(parent_of_cleans)
    tested_outer.at(1, lambda: EnvironmentRun(tested_outer, "inner", "").cancel("no stock"))
    for ended in (run, tested):
        with pytest.raises(TaskCancelled, match="was cancelled: wrong order"):
            ended.result(timeout=0)
    assert outer.result(timeout=0) == inner.result() == "Cancelled: no stock"


def test_errors_of_the_code_in_a_group_fail_the_run() -> None:
    run = run_of(lambda: _in_group(_raises))
    with pytest.raises(TaskFailed, match="sub-exception") as caught:
        run.result(timeout=0)
    assert caught.value.type == "ExceptionGroup"


async def _exits_in_a_group() -> None:
    await _in_group(_waits, _exits)


async def _exits_beside() -> None:
    await asyncio.gather(_waits(), _exits())


@pytest.mark.parametrize("code", [_exits, _exits_in_a_group, _exits_beside])
def test_an_exit_of_the_code_fails_the_run(code: Any) -> None:
    run = run_of(code)
    with pytest.raises(TaskFailed, match="enough") as caught:
        run.result(timeout=0)
    assert caught.value.type == "SystemExit"
    assert run.history()[-1].state == "failed"


async def _continues_early() -> None:
    await asyncio.wait([asyncio.ensure_future(wf.call(one)) for _ in range(2)], return_when="FIRST_COMPLETED")
    wf.continue_as_new(2)


def test_an_event_whose_payload_looks_like_a_signal_does_not_go_to_the_next_run() -> None:
    behaviour["code"] = _continues_early
    run, broker = any_code.start(), get_broker()
    run_worker(until_idle=False)
    leases = broker.exchange("default", "w1", RoundTrip(want=2)).leases
    first, second = (Settlement(lease.id, lease.fence, Outcome.SUCCESS, b'{"e":"signal","n":"go"}') for lease in leases)
    broker.exchange("default", "w1", RoundTrip(settle=[first]))
    (step,) = broker.exchange("default", "w1", RoundTrip(want=1)).leases
    settlement = run_lease(step, CHANNEL)
    broker.exchange("default", "w1", RoundTrip(settle=[second]))  # it comes while the step is being made
    broker.exchange("default", "w1", RoundTrip(settle=[settlement]))
    after = broker.record("default", run.id).own["next_run"]
    assert get_role(WorkflowCalls).inbox("default", after) == []


def test_an_exit_of_the_code_fails_a_run_of_the_environment() -> None:
    behaviour["code"] = _exits
    with pytest.raises(TaskFailed, match="enough"):
        WorkflowEnvironment().run(any_code)
