"""Reset of runs on a real store: a new run goes on from a part of the history, and the earlier run ends."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from queueops import activity, control, inspect, wf, workflow
from queueops.errors import TaskFailed
from queueops.errors.workflows import ResetRefused
from queueops.kinds.workflows.handle import WorkflowHandle
from queueops.kinds.workflows.steps import kept_runs
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.model.contracts import Outcome, RoundTrip, Settlement
from queueops.model.states import State
from queueops.redis.broker import get_broker, get_role
from queueops.testing import run_worker
from tests.support.waiting import wait_until

Run = WorkflowHandle[Any]
behaviour: dict[str, Any] = {}
calls: Counter[str] = Counter()


@activity(name="reset.pay", retries=0)
def pay(order: str) -> str:
    """An effect that is counted."""
    calls[order] += 1
    return f"paid {order}"


@activity(name="reset.send", retries=0)
def send(order: str) -> str:
    """An activity that fails as the test says."""
    if "send" in behaviour:
        raise behaviour["send"]
    return f"sent {order}"


@workflow(name="reset.order")
async def order(number: str) -> list[Any]:
    """Pays, waits for a signal, then sends."""
    drawn = wf.random().random()
    paid = await wf.call(pay, number)
    seen = await wf.signal("approve")
    return [drawn, paid, seen, await wf.call(send, number)]


@workflow(name="reset.small")
async def small() -> str:
    """Waits for a signal."""
    return str(await wf.signal("go"))


@workflow(name="reset.outer")
async def outer() -> str:
    """Has a child without a name, and a timer."""
    await wf.sleep(0.01)
    return "outer: " + await wf.child(small)


@workflow(name="reset.beside")
async def beside() -> str:
    """Has a child without a name beside a signal."""
    child = asyncio.ensure_future(wf.child(small))
    await wf.signal("note")
    return "beside: " + await child


@workflow(name="reset.open")
async def still_open() -> str:
    """Waits for a signal while an activity is open."""
    async with asyncio.TaskGroup() as tasks:
        paid = tasks.create_task(wf.call(pay, "slow"))
        first = tasks.create_task(wf.signal("first"))
    return f"{paid.result()}, {first.result()}"


@workflow(name="reset.sleepy")
async def sleepy() -> int:
    """Takes a signal, then waits for a timer that began before."""
    timer = asyncio.ensure_future(wf.sleep(0.3))
    found = await wf.signal("note")
    await timer
    return int(found)


@pytest.fixture(autouse=True, params=["kept", "replayed"])
def _memory(request: pytest.FixtureRequest, namespace: str) -> Iterator[None]:
    """Each test runs with runs in memory, and with a replay before each step."""
    kept_runs.clear()
    behaviour.clear()
    calls.clear()
    kept_runs.most = None if request.param == "kept" else 0
    yield
    kept_runs.most = None
    kept_runs.clear()


def kinds(run: Run) -> list[str]:
    """The kinds of the entries of a history."""
    return [entry.kind for entry in run.history()]


def work_until(run: Run, kind: str) -> None:
    """Work until the history has an entry of a kind, for which a timer may have to fire."""
    wait_until(lambda: run_worker() >= 0 and kind in kinds(run))


def position(run: Run, kind: str) -> int:
    """The number of the first entry of a kind."""
    return kinds(run).index(kind) + 1


def test_a_failed_run_goes_on_from_a_chosen_step_and_repeats_no_effect() -> None:
    behaviour["send"] = ValueError("no stock")
    run = order.using(id="order/7").start("7")
    run_worker()
    run.signal("approve", "Ada")
    run_worker()
    with pytest.raises(TaskFailed, match="no stock"):
        run.result(timeout=0)
    behaviour.clear()
    again = run.reset(position(run, "signal"), "the stock is back")
    run_worker()
    assert again.id != run.id
    drawn, *rest = again.result(timeout=0)
    assert rest == ["paid 7", "Ada", "sent 7"]
    assert calls == {"7": 1}
    assert run.result(timeout=0) == [drawn, *rest]
    assert run.state == State.FAILED
    assert order.handle("order/7").id == again.id


def test_the_timeline_of_a_run_from_a_reset_begins_with_its_own_push() -> None:
    behaviour["send"] = ValueError("no stock")
    run = order.start("7")
    run_worker()
    run.signal("approve", "Ada")
    run_worker()
    behaviour.clear()
    again = run.reset(position(run, "signal"), "the stock is back")
    run_worker()
    task = inspect.task(again.id)
    assert task is not None
    assert [moment.state for moment in task.timeline] == ["", "pending", "locked", "succeeded"]
    assert task.timeline[0].text == "pushed"
    assert task.first_begun_ms is None
    earlier = inspect.task(run.id)
    assert earlier is not None
    assert earlier.timeline[-1].state == "failed"
    assert [line.text for line in earlier.log if line.kind == "operator"][-1].endswith(", it was failed")


def test_a_waiting_run_is_cancelled_with_the_reason_and_the_new_one_waits_in_its_place() -> None:
    run = order.using(id="one").start("7")
    run_worker()
    again = run.reset(position(run, "done"), "wrong turn")
    run_worker()
    assert (run.state, again.state) == (State.CANCELLED, State.IDLE)
    record = get_role(WorkflowCalls).record("default", run.id)
    assert record is not None
    assert record.reason == "wrong turn"
    again.signal("approve", 1)
    run_worker()
    assert run.result(timeout=0)[1:] == ["paid 7", 1, "sent 7"]
    assert calls == {"7": 1}


def test_the_random_numbers_of_the_history_stay() -> None:
    run = order.using(id="one").start("7")
    run_worker()
    again = run.reset(position(run, "done"))
    run_worker()
    again = again.reset(position(again, "done"))
    again.signal("approve", 1)
    run_worker()
    found = run.result(timeout=0)
    assert found == again.result(timeout=0)
    other = order.start("7")
    other.signal("approve", 1)
    run_worker()
    assert other.result(timeout=0)[0] != found[0]


def test_a_reset_to_the_first_step_begins_again_with_the_signals() -> None:
    run = order.start("7")
    run.signal("approve", "early")
    run_worker()
    again = run.reset(1)
    run_worker()
    assert again.result(timeout=0)[1:] == ["paid 7", "early", "sent 7"]
    assert calls == {"7": 2}


def test_an_open_activity_of_the_history_goes_to_the_new_run_and_later_ones_are_cancelled() -> None:
    run = still_open.start()
    run_worker(until_idle=False)
    (lease,) = get_broker().exchange("default", "w1", RoundTrip(want=1)).leases
    assert lease.name == "reset.pay"
    run.signal("first", 1)
    run_worker(until_idle=False)
    again = run.reset(position(run, "signal"))
    settlement = Settlement(lease.id, lease.fence, Outcome.SUCCESS, b'"paid"')
    get_broker().exchange("default", "w1", RoundTrip(settle=[settlement]))
    run_worker()
    assert again.result(timeout=0) == "paid, 1"
    assert calls == {}


def test_calls_behind_the_chosen_step_are_cancelled() -> None:
    run = order.start("7")
    run_worker(until_idle=False)
    run.reset(1)
    record = get_role(WorkflowCalls).record("default", f"{run.id}.1")
    assert record is not None
    assert record.state == State.CANCELLED
    assert get_role(WorkflowCalls).run_row("default", run.id).calls == {}  # type: ignore[union-attr]


def test_a_step_that_is_being_made_is_refused_after_a_reset() -> None:
    run = order.start("7")
    run_worker()
    run.signal("approve", "late")
    (lease,) = get_broker().exchange("default", "w1", RoundTrip(want=1)).leases
    again = run.reset(position(run, "done"))
    get_broker().exchange(
        "default", "w1", RoundTrip(settle=[Settlement(lease.id, lease.fence, Outcome.SUCCESS, b"{}")])
    )
    assert run.state == State.CANCELLED
    run_worker()
    assert again.result(timeout=0)[1:] == ["paid 7", "late", "sent 7"]


def test_a_child_that_is_reset_reports_to_its_parent() -> None:
    run = outer.start()
    work_until(run, "child")
    child: WorkflowHandle[str] = WorkflowHandle(f"{run.id}.2")
    renewed = child.reset(1)
    renewed.signal("go", "home")
    run_worker()
    assert run.result(timeout=0) == "outer: home"


def test_a_child_of_the_history_reports_to_the_new_run() -> None:
    run = beside.start()
    run_worker()
    run.signal("note", 1)
    run_worker()
    again = run.reset(position(run, "signal"))
    run_worker()
    child: WorkflowHandle[str] = WorkflowHandle(f"{run.id}.1")
    assert child.state == State.IDLE
    child.signal("go", "one")
    run_worker()
    assert again.result(timeout=0) == "beside: one"


def test_a_timer_of_the_history_fires_for_the_new_run() -> None:
    run = sleepy.start()
    run_worker()
    run.signal("note", 1)
    run_worker()
    again = run.reset(position(run, "signal"))
    work_until(again, "fired")
    assert again.result(timeout=0) == 1
    agenda = get_role(WorkflowCalls).ask("default", lambda client: client.zrange(_agenda(), 0, -1))
    assert [entry for entry in agenda if entry.startswith(b"~timer")] == []


def _agenda() -> str:
    return get_role(WorkflowCalls).keys("default").agenda


@pytest.mark.parametrize("entry", [0, -1, 99])
def test_an_entry_that_is_not_there_is_refused(entry: int) -> None:
    run = order.start("7")
    run_worker()
    with pytest.raises(ResetRefused, match=f"no entry {entry}"):
        run.reset(entry)
    assert run.state == State.IDLE


def test_a_part_of_a_chain_and_a_run_with_a_next_one_are_refused() -> None:
    whole = (order.si("7") | pay.si("8")).push()
    run_worker()
    (part,) = [row for row in inspect.tasks(inspect.TaskQuery(kind="workflow")).rows if row.parent == whole.id]
    assert "it is a part of another task" in control.reset_run(part.id, 1).detail
    run = order.start("9")
    run_worker()
    run.reset(1)
    assert control.reset_run(run.id, 1).detail == "it has a next run: reset that one"


def test_a_retry_means_the_newest_run_and_not_one_that_was_reset() -> None:
    behaviour["send"] = ValueError("no stock")
    run = order.start("7")
    run.signal("approve", 1)
    run_worker()
    again = run.reset(position(run, "failed"))
    run_worker()
    assert (run.state, again.state) == (State.FAILED, State.FAILED)
    assert control.retry([run.id])[0].detail == "it has a next run: retry that one"
    behaviour.clear()
    assert run.retry()
    run_worker()
    assert run.result(timeout=0)[1:] == ["paid 7", 1, "sent 7"]


def test_one_token_is_one_reset() -> None:
    run = order.start("7")
    run_worker()
    answers = [control.reset_run(run.id, 1, token="t-1", who="Ada") for _ in range(2)]
    assert [answer.word for answer in answers] == ["OK", "REPEAT"]
    assert answers[0].detail == answers[1].detail
    assert control.reset_run("no-such-run", 1).word == "GONE"
