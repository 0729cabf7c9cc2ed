"""Consistency check of runs: what was lost with a record is found, and the run goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from queueops import wf, workflow
from queueops.errors import TaskFailed
from queueops.kinds.workflows.steps import kept_runs
from queueops.kinds.workflows.store import WorkflowCalls, open_check
from queueops.model.contracts import Outcome, RoundTrip, Settlement
from queueops.redis.broker import get_broker, get_role
from queueops.testing import run_worker
from tests.support.waiting import wait_until
from tests.workflows.test_runs import add, approval, sums


@pytest.fixture(autouse=True)
def _clean(namespace: str) -> Iterator[None]:
    kept_runs.clear()
    yield
    kept_runs.clear()


def found(*, repair: bool = False) -> list[str]:
    """What the check of the pool says."""
    texts, after = [], ""
    while True:
        page = get_broker().check("default", after, repair=repair)
        texts += [fault.text for fault in page.faults]
        after = page.next
        if not after:
            return texts


def test_a_healthy_run_has_no_finding() -> None:
    approval.start(60.0)
    sums.start(2)
    run_worker(until_idle=False)
    run_worker(until_idle=False)
    assert found() == []


def test_a_run_whose_activity_was_lost_is_told_so() -> None:
    run = sums.start(1)
    run_worker(until_idle=False)
    broker = get_broker()
    broker.client.delete(broker.keys("default").task(f"{run.id}.1"))
    assert f"it waits for {run.id}.1, which is gone" in found(repair=True)
    run_worker()
    with pytest.raises(TaskFailed, match="its end was lost"):
        run.result(timeout=0)


def test_a_lost_activity_is_found_among_many() -> None:
    run = sums.start(1_200)
    run_worker(until_idle=False)
    broker = get_broker()
    assert found() == []
    lost = broker.keys("default").task(f"{run.id}.1111")
    wait_until(lambda: broker.tick("default") and broker.client.exists(lost))  # the calls begin in slices
    broker.client.delete(lost)
    assert f"it waits for {run.id}.1111, which is gone" in found()


@pytest.mark.parametrize(
    ("place", "text", "says"),
    [
        (0, b'{"e":"call","c":9,"n":"x"}', "entry 1 of its history does not begin a step"),
        (-1, b"not JSON", "entry 2 of its history cannot be read"),
        (-1, b'{"e":"end","s":"succeeded"}', "entry 2 of its history is an end, and the run goes on"),
        (-1, b'{"e":"call","c":9,"n":"x"}', "it waits for its command 9, which nothing will end"),
    ],
)
def test_a_history_that_no_step_can_have_written_is_found(place: int, text: bytes, says: str) -> None:
    run = approval.start(60.0)
    run_worker()
    broker = get_broker()
    broker.client.lset(f"{broker.keys('default').task(run.id)}#history", place, text)
    assert says in found()


def test_a_command_that_nothing_will_end_is_repaired() -> None:
    run = sums.start(1)
    run_worker(until_idle=False)
    broker = get_broker()
    broker.client.delete(f"{broker.keys('default').task(run.id)}#calls")
    assert found(repair=True) == ["it waits for its command 1, which nothing will end"]
    run_worker()
    with pytest.raises(TaskFailed, match="its end was lost"):
        run.result(timeout=0)


@workflow(name="check.long")
async def long_run(count: int) -> int:
    """Has a long history, and then waits for calls: one that begins with its step, one later, and a signal."""
    for number in range(count):
        wf.side_effect(lambda: number)  # noqa: B023  # it is called at once
    waiting = [asyncio.ensure_future(wf.call(add, number, 1)) for number in range(900)]
    await wf.signal("go")
    return sum(await asyncio.gather(*waiting))


def long_history(count: int = 1_200) -> str:
    """The id of a run with a long history, whose calls have begun for the most part."""
    run = long_run.start(count)
    run_worker(until_idle=False)
    assert get_broker().client.zcard(f"{get_broker().keys('default').task(run.id)}#later") > 0
    assert found() == []
    return run.id


def test_a_command_of_a_long_history_that_nothing_will_end_is_repaired() -> None:
    run, broker = long_history(), get_broker()
    key = broker.keys("default").task(run)
    broker.client.hdel(f"{key}#calls", "1300")
    broker.client.zremrangebyscore(f"{key}#later", 2100, 2100)
    lost = [f"it waits for its command {number}, which nothing will end" for number in (1300, 2100)]
    assert sorted(found()) == lost
    assert sorted(found(repair=True)) == lost
    assert found() == []
    long_run.handle(run).signal("go")
    run_worker()
    with pytest.raises(TaskFailed, match="its end was lost"):
        long_run.handle(run).result(timeout=0)


def test_a_command_whose_end_is_far_back_in_a_long_inbox_has_an_end() -> None:
    run = sums.start(1)
    run_worker(until_idle=False)
    run.suspend()
    broker, key = get_broker(), get_broker().keys("default").task(run.id)
    run_worker()  # the activity, whose end waits in the inbox
    for number in range(1_500):
        run.signal("other", number)
    assert found() == []
    broker.client.lpop(f"{key}#inbox")
    assert found() == ["it waits for its command 1, which nothing will end"]


def test_a_step_during_the_check_of_a_long_history_is_no_finding() -> None:
    run, broker = long_history(), get_broker()
    broker.client.hdel(f"{broker.keys('default').task(run)}#calls", "1300")
    entries = list(open_check.examine(broker, "default", run))
    assert [entry for _, entry in entries] == [
        f"~unended:1300:{get_role(WorkflowCalls).step_fence('default', run)}:{run}"
    ]
    run_worker()
    assert broker._checked("default", True, "", [entry for _, entry in entries]) == []
    assert len(found()) == 1  # it is found by the next check


def test_an_event_that_cannot_be_read_goes_to_the_log() -> None:
    run = approval.start(60.0)
    run_worker()
    broker = get_broker()
    run.suspend()
    broker.client.rpush(f"{broker.keys('default').task(run.id)}#inbox", b"not JSON", b'{"e":"later","c":1}')
    assert found(repair=True) == ["an event of its inbox cannot be read"]
    assert found() == []
    assert get_role(WorkflowCalls).inbox("default", run.id) == [b'{"e":"later","c":1}']
    assert any(b"not JSON" in line for line in broker.log("default", run.id))


def test_a_timer_that_no_run_waits_for_is_removed() -> None:
    run = approval.start(60.0)
    run_worker()
    broker = get_broker()
    agenda = broker.keys("default").agenda
    broker.client.zadd(agenda, {f"~timer:7:{run.id}": 2e12, "~timer:1:gone": 2e12, "~nobody:knows": 2e12})
    assert found(repair=True) == ["no run waits for this timer"] * 2
    assert found() == []
    assert broker.client.zscore(agenda, f"~timer:1:{run.id}")
    assert broker.client.zscore(agenda, "~nobody:knows")


def test_the_indexes_of_instances_and_of_blocked_runs_are_mended() -> None:
    run = approval.using(id="order/7").start(60.0)
    broker = get_broker()
    prefix = broker.keys("default").prefix
    broker.client.hset(f"{prefix}:instances", mapping={f"lost-{number}": "gone" for number in range(600)})
    broker.client.hdel(f"{prefix}:instances", "order/7")
    broker.client.zadd(f"{prefix}:blocked", {run.id: 1, "gone": 1})
    texts = found(repair=True)
    assert texts.count("its newest run gone is gone") == 600
    assert texts.count("it is not blocked, and in that index") == 2
    assert texts.count("its instance does not name it") == 1
    assert found() == []
    assert approval.handle("order/7").id == run.id
    assert broker.client.zcard(f"{prefix}:blocked") == 0


def test_a_blocked_run_comes_back_into_its_index() -> None:
    run = approval.start(60.0)
    broker = get_broker()
    (lease,) = broker.exchange("default", "w1", RoundTrip(want=1)).leases
    blocked = Settlement(lease.id, lease.fence, Outcome.SUCCESS, b'{"blocked": "a reason"}')
    broker.exchange("default", "w1", RoundTrip(settle=[blocked]))
    prefix = broker.keys("default").prefix
    assert found() == []
    broker.client.delete(f"{prefix}:blocked")
    assert found(repair=True) == ["it is blocked, and not in that index"]
    assert broker.client.zscore(f"{prefix}:blocked", run.id)


def test_a_lost_timer_comes_back() -> None:
    run = approval.start(60.0)
    run_worker()
    broker = get_broker()
    broker.client.zrem(broker.keys("default").agenda, f"~timer:1:{run.id}")
    assert found(repair=True) == ["its timer 1 is not on the agenda"]
    assert found() == []
