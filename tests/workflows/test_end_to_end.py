"""Workflows end to end: what the code of a run and its callers see, with and without runs in memory."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from queueops import activity, control, current, wf, workflow
from queueops.errors import BadArguments, TaskCancelled, TaskFailed
from queueops.errors.workflows import HistoryTooLong, RunEnded
from queueops.kinds.workflows.handle import WorkflowHandle
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.model.states import State
from queueops.redis.broker import get_broker, get_role
from queueops.tasks import registry
from queueops.testing import WorkflowEnvironment, run_worker
from tests.workflows.test_runs import add, approval, counter, sums

pytestmark = pytest.mark.usefixtures("memory")

attempts: list[int] = []
effects: list[str] = []


class NoStock(Exception):
    """An error of a project."""


@activity(name="wf.no_stock", retries=0)
def no_stock() -> None:
    """Fails with an error of the project."""
    raise NoStock("no tea")


@activity(name="wf.third_time", retries=2, timeout=60)
def third_time() -> int:
    """Succeeds at its third attempt."""
    attempts.append(current().attempt)
    if len(attempts) < 3:
        raise NoStock("not yet")
    return len(attempts)


@activity(name="wf.who", retries=0)
def who() -> Any:
    """The metadata that came with the activity."""
    return current().meta


@workflow(name="wf.empty")
async def empty() -> str:
    """Returns at once."""
    return "nothing"


@workflow(name="wf.measures")
async def measures() -> list[int]:
    """Calls activities with the length of its history, and returns these lengths."""
    lengths = []
    for _ in range(3):
        lengths.append(wf.info().length)
        await wf.call(add, lengths[-1], 0)
    return lengths


@workflow(name="wf.asks_stock")
async def asks_stock() -> str:
    """Catches the error of an activity."""
    try:
        await wf.call(no_stock)
    except TaskFailed as error:
        return f"{error.type.rpartition('.')[2]}: {error.message}"
    return "?"


@workflow(name="wf.tries")
async def tries() -> int:
    """Calls an activity that is retried."""
    return await wf.call(third_time)


@workflow(name="wf.effects")
async def has_effects() -> list[str]:
    """Two side effects, with a step between them."""
    first = wf.side_effect(lambda: effects.append("first") or "first")
    await wf.call(add, 1, 1)
    second = wf.side_effect(lambda: effects.append("second") or "second")
    await wf.call(add, 1, 1)
    return [first, second]


@workflow(name="wf.two_children")
async def two_children() -> list[str]:
    """Waits for two children, and tells how each answered a cancel."""
    waiting = [asyncio.ensure_future(wf.child(child.using(id=f"child-{number}"))) for number in (1, 2)]
    try:
        return list(await asyncio.gather(*waiting))
    except asyncio.CancelledError:
        return ["parent"]


@workflow(name="wf.child")
async def child() -> str:
    """Answers a cancel."""
    try:
        await wf.sleep(60)
    except asyncio.CancelledError:
        return "child"
    return "slept"


@workflow(name="wf.hesitates")
async def hesitates() -> str:
    """Cancels a child, a timer and an activity in the step that began them."""
    begun = [
        asyncio.ensure_future(wf.child(child.using(id="never"))),
        asyncio.ensure_future(wf.sleep(60)),
        asyncio.ensure_future(wf.call(add, 1, 1)),
    ]
    await asyncio.sleep(0)
    for each in begun:
        each.cancel()
    await asyncio.wait(begun)
    return "changed its mind"


@workflow(name="wf.timer_twice")
async def cancels_a_timer_twice() -> str:
    """Cancels a timer in a later step, twice."""
    timer = asyncio.ensure_future(wf.sleep(60))
    await wf.call(add, 1, 1)
    timer.cancel()
    timer.cancel()
    await wf.call(add, 1, 1)
    return "cancelled" if timer.cancelled() else "?"


@workflow(name="wf.counting_parent")
async def counting_parent() -> int:
    """Waits for a child that continues as new."""
    return await wf.child(counter.using(id="counted"), 0)


@workflow(name="wf.who")
async def asks_who() -> Any:
    """The metadata of an activity."""
    return await wf.call(who)


def agenda() -> list[bytes]:
    """The timers on the agenda."""
    store = get_role(WorkflowCalls)
    found = store.ask("default", lambda client: client.zrange(store.keys("default").agenda, 0, -1))
    return [entry for entry in found if entry.startswith(b"~timer")]


def kinds(run: WorkflowHandle[Any]) -> list[str]:
    """The kinds of the entries of a run's history."""
    return [entry.kind for entry in run.history()]


def test_a_run_without_commands_has_two_entries() -> None:
    run = empty.start()
    run_worker()
    assert run.result(timeout=0) == "nothing"
    assert [(entry.kind, entry.command) for entry in run.history()] == [("step", 0), ("end", 0)]


def test_a_hundred_activities_at_once() -> None:
    run = sums.start(100)
    run_worker()
    assert run.result(timeout=0) == sum(range(100)) + 100 + 1


@pytest.mark.parametrize("part", ["workflow", "activity"])
def test_a_name_that_no_worker_knows_waits_for_one_that_does(part: str) -> None:
    handler: Any = registry.find(*(("workflow", "wf.sums") if part == "workflow" else ("task", "wf.add")))
    run = sums.start(1)
    registry.unregister(handler.kind, handler.name)
    try:
        run_worker()
        assert run.state == (State.POSTPONED if part == "workflow" else State.IDLE)
        row = get_role(WorkflowCalls).run_row("default", run.id)
        assert row is not None
        assert ("vb" in row.fields) == (part == "workflow")
    finally:
        registry.register(handler)
    for id in (run.id, f"{run.id}.1"):
        get_broker().control("default", "run_now", [id])
    run_worker()
    assert run.result(timeout=0) == 2


def test_wrong_arguments_of_a_workflow_are_refused_at_its_start() -> None:
    with pytest.raises(BadArguments, match=r"wf\.sums"):
        sums.start("many", 7)  # type: ignore[call-arg, arg-type]


def test_wrong_arguments_of_an_activity_are_an_exception_of_the_code() -> None:
    run = wrong_arguments.start()
    run_worker()
    assert run.result(timeout=0).startswith("BadArguments: ")


@workflow(name="wf.wrong_arguments")
async def wrong_arguments() -> str:
    """Calls an activity with too many arguments."""
    try:
        await wf.call(add, 1, 2, 3)  # type: ignore[call-arg]
    except BadArguments as error:
        return f"BadArguments: {error}"
    return "?"


def test_side_effects_run_once_though_their_code_is_replayed() -> None:
    effects.clear()
    run = has_effects.start()
    run_worker()
    assert run.result(timeout=0) == ["first", "second"]
    assert effects == ["first", "second"]


def test_a_signal_after_the_end_is_refused() -> None:
    run = empty.start()
    run_worker()
    with pytest.raises(RunEnded, match=r"succeeded\. It takes no signal"):
        run.signal("approve")


def test_the_instance_of_a_child_can_be_used_again() -> None:
    earlier = approval.using(id="small").start(60)
    earlier.signal("approve", "earlier")
    run_worker()
    run = parent_of_approval.start()
    run_worker()
    approval.handle("small").signal("approve", "later")
    run_worker()
    assert run.result(timeout=0) == "later"
    assert earlier.id != approval.handle("small").id


@workflow(name="wf.parent_of_approval")
async def parent_of_approval() -> str:
    """Runs a child with an instance of its own."""
    return await wf.child(approval.using(id="small"), 60.0)


def test_a_cancel_reaches_the_children_and_each_answers() -> None:
    run = two_children.start()
    run_worker()
    first, second = child.handle("child-1"), child.handle("child-2")
    run.cancel()
    run_worker()
    assert [each.result(timeout=0) for each in (run, first, second)] == [["parent"], "child", "child"]


def test_what_is_cancelled_in_its_own_step_never_begins() -> None:
    run = hesitates.start()
    run_worker()
    assert run.result(timeout=0) == "changed its mind"
    assert kinds(run) == ["step", "end"]
    assert agenda() == []
    broker = get_broker()
    assert [broker.record("default", f"{run.id}.{number}") for number in (1, 2, 3)] == [None, None, None]
    with pytest.raises(LookupError):
        child.handle("never")


def test_a_signal_to_an_instance_that_comes_later_is_not_kept() -> None:
    run = early_teller.start()
    run_worker()
    assert run.result(timeout=0) is False
    late = approval.using(id="late").start(60)
    run_worker()
    assert late.state == State.IDLE


@workflow(name="wf.early_teller")
async def early_teller() -> bool:
    """Sends a signal to an instance that is not there."""
    return await wf.send_signal("late", "approve", 1)


def test_metadata_reaches_the_activities_of_a_run() -> None:
    run = asks_who.using(meta={"tenant": "seven"}).start()
    run_worker()
    assert run.result(timeout=0) == {"tenant": "seven"}


def test_a_history_has_a_greatest_length(settings: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"WORKFLOWS": {"MAX_HISTORY": 1}}
    run = sums.start(2)
    run_worker()
    record = get_broker().record("default", run.id)
    assert record is not None
    assert (record.state, record.reason) == (State.POSTPONED, str(HistoryTooLong(id=run.id, size=2, limit=1)))


def test_the_code_sees_the_same_length_of_its_history_in_a_replay() -> None:
    run = measures.start()
    run_worker()
    assert run.result(timeout=0) == [0, 2, 5] == WorkflowEnvironment().run(measures)


def test_the_error_of_an_activity_keeps_its_class_and_message() -> None:
    run = asks_stock.start()
    run_worker()
    assert run.result(timeout=0) == "NoStock: no tea"


def test_an_activity_knows_its_attempt() -> None:
    attempts.clear()
    run = tries.start()
    run_worker()
    for _ in range(2):
        get_broker().control("default", "run_now", [f"{run.id}.1"])
        run_worker()
    assert run.result(timeout=0) == 3
    assert attempts == [1, 2, 3]
    assert kinds(run).count("call") == 1


def test_a_cancelled_run_leaves_no_timer() -> None:
    run = approval.start(60)
    run_worker()
    assert len(agenda()) == 1
    run.cancel()
    run_worker()
    assert agenda() == []
    with pytest.raises(TaskCancelled):
        run.result(timeout=0)


def test_a_timer_that_is_cancelled_twice_is_dropped_once() -> None:
    run = cancels_a_timer_twice.start()
    run_worker()
    assert run.result(timeout=0) == "cancelled"
    assert (kinds(run).count("timer"), kinds(run).count("drop")) == (1, 1)
    assert agenda() == []


def test_a_timer_that_fires_in_the_step_that_drops_it_does_no_harm() -> None:
    run = approval.start(60)
    run_worker()
    run.signal("approve", "in time")
    broker = get_broker()
    broker.client.zadd(broker.keys("default").agenda, {f"~timer:1:{run.id}": 1})
    run_worker()
    assert run.result(timeout=0) == "in time"
    assert kinds(run) == ["step", "timer", "step", "signal", "fired", "drop", "end"]


def test_the_parent_of_a_run_that_continues_as_new_sees_its_last_result() -> None:
    run = counting_parent.start()
    run_worker()
    for number in (1, 2, 3):
        counter.handle("counted").signal("add", number)
        run_worker()
    assert run.result(timeout=0) == 6


def test_runs_that_continued_as_new_stay_until_their_time_is_over() -> None:
    first = counter.using(id="count").start(0)
    for number in (1, 2, 3):
        first.signal("add", number)
        run_worker()
    last = counter.handle("count")
    assert (first.state, last.result(timeout=0)) == (State.SUCCEEDED, 6)
    assert get_broker().record("default", first.id).own["next_run"] not in ("", last.id)
    assert control.keep([first.id], 0)[0].word == "OK"
    get_broker().tick("default")
    assert list(get_broker().client.keys(f"{get_broker().keys('default').task(first.id)}*")) == []
    assert counter.handle("count").result(timeout=0) == 6
    assert list(get_broker().check("default", "").faults) == []
