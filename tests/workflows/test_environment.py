"""Workflows in memory: time jumps, activities are mocked, and each step is made after a replay."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from django.test import SimpleTestCase

from queueops import activity, chain, wf, workflow
from queueops.errors import BadOption, TaskCancelled, TaskFailed
from queueops.errors.workflows import ChildFailed, InstanceInUse, WorkflowStuck
from queueops.inspect import workflow_runs
from queueops.redis.broker import forget_brokers
from queueops.testing import WorkflowEnvironment, eager, run_worker

pytestmark = pytest.mark.usefixtures("own_handlers")


@activity(name="wf.charge", retries=2)
def charge(order: str) -> str:
    """An activity that succeeds."""
    return f"receipt of {order}"


@activity(name="wf.double", retries=0)
async def double(number: int) -> int:
    """An async activity."""
    return 2 * number


@workflow(name="wf.order")
async def order(oid: str) -> str:
    """The example of the documentation."""
    receipt = await wf.call(charge, oid)
    try:
        async with asyncio.timeout(3600):
            ok = await wf.signal("approve")
    except TimeoutError:
        ok = False
    await wf.sleep(60)
    return receipt if ok else "rejected"


@pytest.fixture
def env() -> WorkflowEnvironment:
    """An environment."""
    return WorkflowEnvironment()


def test_a_workflow_waits_for_a_person_and_goes_on(env: WorkflowEnvironment) -> None:
    run = env.start(order, "7")
    env.at(120, lambda: run.signal("approve", True))
    began = env.now
    assert run.result() == "receipt of 7"
    assert env.now - began == timedelta(seconds=180)


def test_without_an_answer_the_time_limit_decides(env: WorkflowEnvironment) -> None:
    began = env.now
    assert env.run(order, "7") == "rejected"
    assert env.now - began == timedelta(seconds=3660)


def test_an_activity_is_mocked_and_retried_as_its_options_say(env: WorkflowEnvironment) -> None:
    answers: list[Any] = [ValueError("once"), ValueError("twice"), "paid"]

    def pay(order: str) -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return str(answer)

    env.mock(charge, pay)
    run = env.start(order, "7")
    env.at(600, lambda: run.signal("approve", True))
    assert run.result() == "paid"
    assert len(env.calls) == 3


def test_a_failed_activity_is_an_exception_in_the_workflow(env: WorkflowEnvironment) -> None:
    @activity(name="wf.broken", retries=0)
    def broken() -> None:
        raise KeyError("no stock")

    @workflow(name="wf.careful")
    async def careful(catches: bool) -> str:
        try:
            await wf.call(broken)
        except TaskFailed as error:
            if not catches:
                raise
            return error.type
        return "fine"

    assert env.run(careful, True) == "KeyError"
    with pytest.raises(TaskFailed) as caught:
        env.run(careful, False)
    assert caught.value.type == "queueops.errors.workflows.ActivityFailed"


def test_gather_and_task_groups_run_activities_at_once(env: WorkflowEnvironment) -> None:
    @workflow(name="wf.many")
    async def many() -> list[int]:
        first = await asyncio.gather(*(wf.call(double, number) for number in range(20)))
        async with asyncio.TaskGroup() as group:
            others = [group.create_task(wf.call(double, number)) for number in range(20, 25)]
        return [*first, *(task.result() for task in others)]

    assert env.run(many) == [2 * number for number in range(25)]


def test_a_task_group_cancels_the_others_when_one_fails(env: WorkflowEnvironment) -> None:
    ended: list[int] = []

    @activity(name="wf.fails", retries=0)
    def fails() -> None:
        raise ValueError("no")

    async def waits(number: int) -> None:
        try:
            await wf.sleep(1000)
        except asyncio.CancelledError:
            ended.append(number)
            raise

    @workflow(name="wf.group")
    async def grouped() -> str:
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(8):
                    group.create_task(waits(number))
                group.create_task(wf.call(fails))
        except ExceptionGroup as error:
            return str(error.exceptions[0])
        return "?"

    assert "ValueError: no" in env.run(grouped)
    assert ended[:8] == list(range(8))


def test_signals_that_came_early_are_read_in_order(env: WorkflowEnvironment) -> None:
    @workflow(name="wf.reads")
    async def reads() -> list[int]:
        await wf.sleep(10)
        found = []
        async for value in wf.signals("number"):
            found.append(value)
            if len(found) == 3:
                break
        return found

    run = env.start(reads)
    for number in (1, 2, 3):
        run.signal("number", number)
    assert run.result() == [1, 2, 3]


def test_time_and_chance_repeat_themselves(env: WorkflowEnvironment) -> None:
    seen: list[tuple[Any, ...]] = []

    @workflow(name="wf.chance")
    async def chance() -> bool:
        first = wf.now(), wf.random().random(), wf.uuid4(), wf.side_effect(lambda: len(seen))
        seen.append(first)
        await wf.sleep(5)
        await wf.sleep(5)
        return True

    env.run(chance)
    assert len(seen) == 3
    assert len(set(seen)) == 1


def test_code_can_answer_a_cancel(env: WorkflowEnvironment) -> None:
    @workflow(name="wf.cleans")
    async def cleans(forgives: bool) -> str:
        try:
            await wf.sleep(1000)
        except asyncio.CancelledError:
            await wf.call(charge, "refund")
            if not forgives:
                raise
        return "cleaned"

    run = env.start(cleans, True)
    env.at(5, lambda: run.cancel("enough"))
    assert run.result() == "cleaned"
    other = env.start(cleans, False)
    env.at(5, other.cancel)
    with pytest.raises(TaskCancelled):
        other.result()


def test_a_child_is_a_run_of_its_own(env: WorkflowEnvironment) -> None:
    @workflow(name="wf.inner")
    async def inner(number: int) -> int:
        return number + await wf.signal("add")

    @workflow(name="wf.outer")
    async def outer() -> int:
        waiting = asyncio.ensure_future(wf.child(inner.using(id="inner-1"), 1))
        await wf.sleep(1)
        assert await wf.send_signal("inner-1", "add", 41)
        assert not await wf.send_signal("unknown-instance", "add", 41)
        return await waiting

    assert env.run(outer) == 42


def test_a_run_continues_as_new_with_the_unread_signals(env: WorkflowEnvironment) -> None:
    @workflow(name="wf.forever")
    async def forever(total: int) -> int:
        total += await wf.signal("add")
        if total < 6:
            wf.continue_as_new(total)
        return total

    run = env.start(forever, 0)
    for number in (1, 2, 3):
        run.signal("add", number)
        env.advance(1)
    assert run.result() == 6
    assert [entry.kind for entry in run.history()] == ["step", "step", "signal", "end"]


def test_one_instance_has_one_run_at_a_time(env: WorkflowEnvironment) -> None:
    env.start(order.using(id="order-7"), "7")
    with pytest.raises(InstanceInUse, match="order-7"):
        env.start(order.using(id="order-7"), "7")


def test_a_run_that_waits_for_nothing_is_stuck(env: WorkflowEnvironment) -> None:
    @workflow(name="wf.stuck")
    async def stuck() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(WorkflowStuck, match=r"test_environment\.py"):
        env.run(stuck)


@workflow(name="env.parcel")
async def parcel(number: int) -> str:
    """Waits for a signal."""
    return str(await wf.signal("sent"))


@workflow(name="env.parcels")
async def parcels(count: int) -> list[str]:
    """A child for each parcel; one that fails is told."""
    found = await asyncio.gather(*(wf.child(parcel, number) for number in range(count)), return_exceptions=True)
    return [each.type if isinstance(each, ChildFailed) else str(each) for each in found]


def test_a_child_is_replaced_by_a_function() -> None:
    def sent(number: int) -> str:
        if number == 2:
            raise LookupError("no parcel")
        return f"sent {number}"

    env = WorkflowEnvironment()
    env.mock(parcel, sent, takes=30)
    before = env.now
    assert env.run(parcels, 3) == ["sent 0", "sent 1", "LookupError"]
    assert env.now - before == timedelta(seconds=30)
    assert env.calls == []


def test_a_cancel_ends_a_run_that_has_not_begun(env: WorkflowEnvironment) -> None:
    run = env.start(order.using(delay=3600), "7")
    assert run.cancel()
    with pytest.raises(TaskCancelled, match="cancelled before its begin"):
        run.result()
    assert (run.history(), env.calls) == ([], [])


def test_a_run_in_eager_mode_goes_on_at_once_and_waits_for_no_timer(namespace: str) -> None:
    with eager():
        run = order.start("7", id="order-7")
        assert [entry.kind for entry in run.history()][-1] == "timer"
        order.handle("order-7").signal("approve", True)
        assert (run.state, run.result(timeout=1)) == ("idle", "receipt of 7")
        assert order.start("8").result() == "rejected"
        assert chain(order.s("9")).push().result() == "rejected"
    assert run_worker() == 0  # no run has gone to the store of the settings
    assert workflow_runs().rows == ()


def test_what_is_no_activity_or_workflow_is_refused_with_advice() -> None:
    env, wrong = WorkflowEnvironment(), "wf.charge"
    with pytest.raises(BadOption, match="below @activity, @task or @workflow"):
        env.mock(wrong, print)
    with pytest.raises(BadOption, match="below @workflow"):
        env.start(charge, "7")  # type: ignore[arg-type]


def test_a_terminated_run_ends_with_its_children_and_tells_its_parent() -> None:
    env = WorkflowEnvironment()
    run = env.start(parcels.using(id="all"), 2)
    env.advance(1)
    run.terminate("wrong order")
    run.terminate("again")
    with pytest.raises(TaskCancelled, match="wrong order"):
        run.result()
    env.advance(1)
    states = {each.instance: each.state for each in env._runs.values()}
    assert set(states.values()) == {"cancelled"}
    alone = env.start(parcel.using(id="one"), 1)
    outer = env.start(calls_one)
    env.advance(1)
    env.terminate("inner")
    assert outer.result() == "cancelled"
    assert alone.state == "running"


@workflow(name="env.calls_one")
async def calls_one() -> str:
    """Has one child with a name."""
    try:
        return await wf.child(parcel.using(id="inner"), 1)
    except ChildFailed:
        return "cancelled"


def test_a_suspended_run_makes_no_step_until_it_is_resumed() -> None:
    env = WorkflowEnvironment()
    run = env.start(parcel, 1)
    env.advance(1)
    run.suspend()
    run.signal("sent", "yes")
    env.advance(1)
    assert (run.state, len(run.history())) == ("running", 1)
    run.resume()
    assert run.result() == "yes"


def test_no_store_is_needed(env: WorkflowEnvironment, settings: Any) -> None:
    settings.QUEUEOPS = {"URL": "redis://127.0.0.1:1/0"}  # nothing listens there
    forget_brokers()
    try:
        run = env.start(order, "7")
        env.at(120, lambda: run.signal("approve", True))
        assert run.result() == "receipt of 7"
        assert run.reset(1).result() == "receipt of 7"
    finally:
        forget_brokers()


class OrderTests(SimpleTestCase):
    """A test of a workflow below Django's TestCase."""

    def test_an_order_is_charged_once(self) -> None:
        """The activity is replaced, and its calls are counted."""
        env = WorkflowEnvironment()
        env.mock(charge, lambda order: f"paid {order}", takes=5)
        run = env.start(in_a_test_case, "7")
        env.at(60, lambda: run.signal("approve", True))
        assert run.result() == "paid 7: True"
        assert [name for name, _ in env.calls] == ["wf.charge"]


@workflow(name="env.in_a_test_case")
async def in_a_test_case(order: str) -> str:
    """Charges, and waits for an approval."""
    receipt = await wf.call(charge, order)
    return f"{receipt}: {await wf.signal('approve')}"
