"""Consistency check of calls of other pools and of calls that wait to begin; and retries with both."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from queueops import activity, wf, workflow
from queueops.errors import TaskFailed
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.model.contracts import RoundTrip
from queueops.model.fsck import Fault
from queueops.redis.broker import get_broker, get_role
from queueops.testing import run_worker
from tests.kernel.desk import end
from tests.support.waiting import wait_until
from tests.workflows import test_other_pools as far
from tests.workflows.test_other_pools import FAR, far_state, one, work

pytestmark = pytest.mark.usefixtures("memory")
BROKEN: list[bool] = []


@pytest.fixture(autouse=True)
def _mended() -> Iterator[None]:
    BROKEN.clear()
    yield
    BROKEN.clear()


@activity(name="check.near", retries=0)
def near(number: int) -> int:
    """An activity of the pool of the run."""
    return number


@activity(name="check.step", retries=0)
def step(number: int) -> int:
    """Fails as long as it is broken."""
    if BROKEN:
        raise ValueError("broken")
    return number


@activity(name="check.far", retries=0, pool=FAR)
def there(number: int) -> int:
    """An activity of another pool."""
    return number


@workflow(name="check.far_child", pool=FAR)
async def far_child(rounds: int) -> str:
    """Continues as new, waits for a signal, and calls an activity that may fail."""
    if rounds:
        wf.continue_as_new(rounds - 1)
    await wf.signal("go")
    return f"child {await wf.call(step.using(pool=FAR), 1)}"


@workflow(name="check.parent")
async def parent(rounds: int) -> str:
    """Fails with its child of another pool."""
    return await wf.child(far_child.using(id="the-child"), rounds)


@workflow(name="check.both")
async def both(count: int) -> int:
    """Many activities here and some there, beside one that fails: the others are given up."""
    async with asyncio.TaskGroup() as group:
        first = group.create_task(wf.call(step, 1))
        here = [group.create_task(wf.call(near, number)) for number in range(count)]
        others = [group.create_task(wf.call(there.using(delay=0.01), number)) for number in range(3)]
        inner = group.create_task(wf.child(far_child.using(id="the-child"), 0))
    assert inner.result() == "child 1"
    return first.result() + sum(task.result() for task in (*here, *others))


def faults(pool: str = "default", *, repair: bool = False) -> list[Fault]:
    """What the check of a pool says."""
    found: list[Fault] = []
    after = ""
    while True:
        page = get_broker().check(pool, after, repair=repair)
        found += page.faults
        after = page.next
        if not after:
            return found


def said(pool: str = "default", *, repair: bool = False) -> list[str]:
    return [fault.text for fault in faults(pool, repair=repair)]


def key(run: str, part: str = "", pool: str = "default") -> str:
    return f"{get_broker().keys(pool).task(run)}{part}"


def test_a_call_of_another_pool_is_well_wherever_it_is() -> None:
    run = far.calls.start(2)
    one()
    assert (said(), said(FAR)) == ([], [])  # its messages or its tasks wait
    get_role(WorkflowCalls).bring("default")
    assert (said(), said(FAR)) == ([], [])
    one(FAR)
    assert (said(), said(FAR)) == ([], [])  # its ends are on their way, or have come
    work()
    assert run.result(timeout=0) == 3
    assert said() == []


def test_a_task_of_another_pool_that_is_gone_is_found_and_its_call_fails() -> None:
    run = far.calls.start(1)
    one()
    get_role(WorkflowCalls).bring("default")
    wait_until(lambda: far_state(f"{run.id}.1") == "pending")
    get_broker().client.delete(key(f"{run.id}.1", pool=FAR))
    text = "it waits for its command 1 in the pool far, which nothing will end"
    assert said() == [text]
    assert said(repair=True) == [text]
    assert said() == []
    run_worker()
    with pytest.raises(TaskFailed, match="its end was lost"):
        run.result(timeout=0)


def lose_messages(pool: str) -> None:
    """Delete the outbox of a pool."""
    client, keys = get_broker().client, get_broker().keys(pool)
    client.delete(keys.commands, keys.commands_locked, *client.keys(f"{keys.prefix}:command:*"))


def ended_there(run: str) -> None:
    """Let the activity of another pool end. Its message is written, and not delivered."""
    get_role(WorkflowCalls).bring("default")
    wait_until(lambda: far_state(f"{run}.1") == "pending")
    (lease,) = get_broker().exchange(FAR, "w1", RoundTrip(want=1)).leases
    get_broker().exchange(FAR, "w1", RoundTrip(settle=[end(lease, value=b"7")]))
    assert far_state(f"{run}.1") == "succeeded"


def test_an_end_that_no_message_tells_is_told_again() -> None:
    run = far.calls.start(1)
    one()
    ended_there(run.id)
    assert said() == []  # its message waits
    lose_messages(FAR)
    for repair in (False, True):
        (found,) = faults(repair=repair)
        told = f"it has ended, and no message tells {run.id} in the pool default"
        assert (found.pool, found.id, found.text) == (FAR, f"{run.id}.1", told)
    assert said() == []
    work()
    assert run.result(timeout=0) == 7


def test_a_call_and_a_signal_without_a_message_are_found() -> None:
    run = far.calls.start(1)
    one()
    calls = key(run.id, "#calls")
    get_broker().client.hset(calls, mapping={"f8": "a" + f"{run.id}.8#{FAR}#77", "f9": "s"})
    expected = {
        "it waits for its command 8 in the pool far, which nothing will end",
        "it waits for its command 9 to another pool, which nothing will end",
    }
    assert set(said()) == expected
    assert set(said(repair=True)) == expected
    assert said() == []
    assert get_broker().client.hkeys(calls) == [b"f1"]
    work()
    assert run.result(timeout=0) == 1


def test_a_message_that_waits_is_no_fault() -> None:
    run = far.calls.start(1)
    one()
    store, calls = get_broker(), key(run.id, "#calls")
    store.client.hset(calls, "f9", "s")
    keys = store.keys("default")
    store.client.hset(f"{keys.prefix}:command:x", mapping={"v": "run_signal", "me": run.id, "i": "other", "cn": "9"})
    for index in (keys.commands, keys.commands_locked, f"{keys.commands}:dead"):
        store.client.zadd(index, {"x": 9e12})
        assert not any("its command 9" in text for text in said())
        store.client.zrem(index, "x")
    assert any("its command 9" in text for text in said())


def test_a_child_of_another_pool_is_found_in_its_last_run() -> None:
    run = parent.start(2)
    work()
    assert said() == []
    last = far_child.handle("the-child")
    assert last.id != f"{run.id}.1"
    get_broker().client.delete(key(last.id, pool=FAR))
    assert said() == ["it waits for its command 1 in the pool far, which nothing will end"]


def test_a_command_of_another_pool_that_cannot_be_read_has_no_end() -> None:
    run = far.calls.start(1)
    one()
    get_broker().client.hset(key(run.id, "#calls"), "f1", "garbage")
    assert "its open command f1 cannot be read" in said(repair=True)
    run_worker()
    assert run.state == "failed"


def waits_in_slices(count: int = 900) -> str:
    """A run whose calls wait to begin, for the most part."""
    run = far_slices.start(count)
    run_worker(until_idle=False)
    assert get_broker().client.zcard(key(run.id, "#later")) > 0
    return run.id


@workflow(name="check.slices")
async def far_slices(count: int) -> int:
    """More calls than begin at once."""
    return sum(await asyncio.gather(*(wf.call(near, number) for number in range(count))))


def test_calls_that_wait_and_are_not_on_the_agenda_begin_again() -> None:
    run = waits_in_slices()
    assert said() == []
    get_broker().client.zrem(get_broker().keys("default").agenda, f"~calls:{run}")
    text = "calls of it wait to begin, and are not on the agenda"
    assert said() == [text]
    assert said(repair=True) == [text]
    run_worker()
    assert far_slices.handle(run).result(timeout=0) == sum(range(900))


def test_a_waiting_call_that_cannot_be_read_fails_alone() -> None:
    run = waits_in_slices()
    client = get_broker().client
    client.zremrangebyscore(key(run, "#later"), 900, 900)
    client.zadd(key(run, "#later"), {"garbage": 900})
    assert "its call 900, which waits to begin, cannot be read" in said(repair=True)
    run_worker()
    with pytest.raises(TaskFailed, match="its plan was lost"):
        far_slices.handle(run).result(timeout=0)


def test_an_entry_whose_payload_was_lost_is_found() -> None:
    run = far.child.start(0)
    run.signal("other", "x" * 50_000)
    run_worker(pools=[FAR])
    assert said(FAR) == []
    get_broker().client.delete(key(run.id, "#payloads", FAR))
    assert said(FAR) == ["entry 2 of its history has lost its payload"]


def test_a_value_that_looks_like_a_reference_is_none() -> None:
    run = far.child.start(0)
    run.signal("other", {"k": "1", "z": 5})
    run_worker(pools=[FAR])
    assert said(FAR) == []


@pytest.mark.parametrize("rounds", [0, 2])
def test_a_failed_child_of_another_pool_makes_its_failed_step_again(rounds: int) -> None:
    BROKEN.append(True)
    run = parent.start(rounds)
    work()
    child = far_child.handle("the-child")
    child.signal("go")
    work()
    assert (run.state, child.state) == ("failed", "failed")
    length = len(child.history())
    BROKEN.clear()
    assert run.retry()
    work()
    assert run.result(timeout=0) == "child 1"
    assert far_child.handle("the-child").id == child.id
    assert len(child.history()) == length  # the failed end was replaced; nothing else was made again


def test_a_child_of_another_pool_that_succeeded_after_its_failure_gives_its_result() -> None:
    BROKEN.append(True)
    run = parent.start(0)
    work()
    child = far_child.handle("the-child")
    child.signal("go")
    work()
    BROKEN.clear()
    assert child.retry()
    work()
    assert (run.state, child.state) == ("failed", "succeeded")
    assert run.retry()
    work()
    assert run.result(timeout=0) == "child 1"


def test_a_child_of_another_pool_whose_instance_has_a_newer_run_fails_the_call() -> None:
    BROKEN.append(True)
    run = parent.start(0)
    work()
    far_child.handle("the-child").signal("go")
    work()
    other = far_child.using(id="the-child").start(0)
    work()
    assert run.retry()
    work()
    with pytest.raises(TaskFailed) as failed:
        run.result(timeout=0)
    assert "has a newer run that has not ended" in str(failed.value)
    assert other.state == "idle"


def test_a_retried_run_has_both_slices_and_calls_of_other_pools() -> None:
    BROKEN.append(True)
    run = both.start(900)
    run_worker(until_idle=False)  # the step alone: its slices and its messages wait
    assert get_broker().client.zcard(key(run.id, "#later")) > 0
    assert said() == []
    work()
    assert run.state == "failed"
    assert (said(), said(FAR)) == ([], [])
    BROKEN.clear()
    assert run.retry()
    run_worker(until_idle=False)
    assert (said(), said(FAR)) == ([], [])
    work()
    work()
    far_child.handle("the-child").signal("go")
    work()
    assert run.result(timeout=0) == 1 + sum(range(900)) + sum(range(3))
    assert (said(), said(FAR)) == ([], [])
