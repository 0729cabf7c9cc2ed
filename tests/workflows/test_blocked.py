"""Runs whose step cannot be made are blocked, and go on when the reason is gone; failed runs can go on, too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from queueops import activity, wf, workflow
from queueops.errors import ResultTimeout, TaskFailed
from queueops.kinds.workflows.handle import WorkflowHandle
from queueops.kinds.workflows.steps import kept_runs
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.model.contracts import Outcome, RoundTrip, Settlement
from queueops.model.states import State
from queueops.redis.broker import get_broker, get_role
from queueops.testing import run_worker
from queueops.worker.execution import failure

behaviour: dict[str, Any] = {}


@activity(name="wf.flaky", retries=0)
def flaky() -> str:
    """Does what the test says."""
    found = behaviour.get("flaky", "fine")
    if isinstance(found, Exception):
        raise found
    return str(found)


@activity(name="wf.other", retries=0)
def other() -> str:
    """Another activity."""
    return "other"


@workflow(name="wf.changes")
async def changes() -> str:
    """Code that a test changes."""
    code: Callable[[], Any] = behaviour["code"]
    return str(await code())


@pytest.fixture(autouse=True)
def _clean(namespace: str) -> Iterator[None]:
    kept_runs.clear()
    behaviour.clear()
    yield
    behaviour.clear()
    kept_runs.clear()


def fields(run: WorkflowHandle[Any]) -> dict[str, str]:
    """The record of a run."""
    row = get_role(WorkflowCalls).run_row("default", run.id)
    assert row is not None
    return row.fields


async def waits_then_flaky() -> str:
    await wf.signal("go")
    return await wf.call(flaky)


async def calls_other_first() -> str:
    await wf.call(other)
    return await wf.call(flaky)


def test_changed_code_blocks_the_run_and_the_earlier_code_frees_it() -> None:
    behaviour["code"] = waits_then_flaky
    run = changes.start()
    run_worker()
    kept_runs.clear()
    behaviour["code"] = calls_other_first
    run.signal("go")
    run_worker()
    assert run.state == State.POSTPONED
    assert "Recorded: nothing more. Done now: call number 1 wf.other" in fields(run)["y"]
    assert fields(run)["vc"] == "1"
    behaviour["code"] = waits_then_flaky
    assert run.run_now()
    run_worker()
    assert run.result(timeout=0) == "fine"
    assert "vb" not in fields(run)


async def opens_a_thread() -> str:
    return await asyncio.to_thread(str)


async def forgets() -> str:
    return str(await asyncio.get_running_loop().create_future())


async def loops() -> str:
    from django.contrib.auth import get_user_model

    return str(get_user_model().objects.count())


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (opens_a_thread, "A thread or an executor cannot be used"),
        (forgets, "waits for something that nothing will end"),
        (loops, "Django's ORM cannot be used"),
    ],
)
def test_code_that_cannot_be_replayed_blocks_with_advice(code: Callable[[], Any], reason: str) -> None:
    behaviour["code"] = code
    run = changes.start()
    run_worker()
    assert run.state == State.POSTPONED
    assert reason in fields(run)["y"]
    with pytest.raises(ResultTimeout) as caught:
        run.result(timeout=0.01)
    assert str(caught.value).endswith(f"reset it to an earlier step. {fields(run)['y']}")


def test_lost_workers_block_a_run_and_never_fail_it() -> None:
    behaviour["code"] = waits_then_flaky
    run = changes.start()
    broker = get_broker()
    for _ in range(5):
        (lease,) = broker.exchange("default", "w1", RoundTrip(want=1)).leases
        crash = Settlement(lease.id, lease.fence, Outcome.CRASH, b"it was killed")
        broker.exchange("default", "w1", RoundTrip(settle=[crash]))
        run.run_now()
        run.retry()
    run_worker()
    assert run.state == State.IDLE


@pytest.mark.parametrize("outcome", [Outcome.TIMEOUT, Outcome.CRASH])
def test_a_blocked_run_is_no_failed_task_of_an_error(outcome: Outcome) -> None:
    behaviour["code"] = waits_then_flaky
    run = changes.start()
    broker = get_broker()
    known = failure.plain("HardTimeout", "The task did not stop.")
    lost = {"fingerprint": known.fingerprint, "title": failure.title_of(known)}
    for _ in range(5):
        (lease,) = broker.exchange("default", "w1", RoundTrip(want=1)).leases
        broker.exchange(
            "default", "w1", RoundTrip(settle=[Settlement(lease.id, lease.fence, outcome, known.encoded(), **lost)])
        )
        run.run_now()
    assert "vb" in fields(run)
    assert broker.client.keys("*:error:*")
    assert broker.client.keys("*:error:*#tasks") == []


def test_the_failed_step_runs_again_with_its_failed_activity() -> None:
    behaviour.update(code=waits_then_flaky, flaky=ValueError("no stock"))
    run = changes.start()
    run.signal("go")
    run_worker()
    with pytest.raises(TaskFailed, match="no stock"):
        run.result(timeout=0)
    behaviour["flaky"] = "in stock"
    assert run.retry()
    run_worker()
    assert run.result(timeout=0) == "in stock"
    assert [entry.kind for entry in run.history()].count("signal") == 1


def test_a_failed_run_can_begin_again() -> None:
    behaviour.update(code=waits_then_flaky, flaky=ValueError("no stock"))
    run = changes.start()
    run.signal("go")
    run_worker()
    behaviour["flaky"] = "in stock"
    assert run.retry(everything=True)
    run_worker()
    assert run.state == State.IDLE
    run.signal("go")
    run_worker()
    assert run.result(timeout=0) == "in stock"


async def first_of_two() -> str:
    slow = asyncio.ensure_future(wf.call(other))
    await wf.call(flaky)
    slow.cancel()
    return "first"


def test_an_activity_that_is_not_needed_any_more_is_cancelled() -> None:
    behaviour["code"] = first_of_two
    run = changes.start()
    run_worker(until_idle=False)
    broker = get_broker()
    assert broker.control("default", "postpone", [f"{run.id}.2"], value="+60000")[0].word == "OK"
    run_worker()
    assert run.result(timeout=0) == "first"
    assert broker.record("default", f"{run.id}.2").state == State.CANCELLED  # type: ignore[union-attr]


def test_the_end_of_an_activity_is_late_when_its_run_has_ended() -> None:
    behaviour["code"] = waits_then_flaky
    run = changes.start()
    run.signal("go")
    run_worker(until_idle=False)
    broker = get_broker()
    (lease,) = broker.exchange("default", "w1", RoundTrip(want=1)).leases
    assert run.terminate("enough")
    broker.exchange("default", "w1", RoundTrip(settle=[Settlement(lease.id, lease.fence, Outcome.SUCCESS, b'"x"')]))
    assert run.state == State.CANCELLED
    assert get_role(WorkflowCalls).inbox("default", run.id) == []
