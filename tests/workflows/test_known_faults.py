"""Faults that workflow engines are known for: each is a test here that it does not happen."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from queueops import Retry, activity, inspect, wf, workflow
from queueops.errors import TaskFailed
from queueops.kinds.workflows import events
from queueops.kinds.workflows import steps as decision_steps
from queueops.kinds.workflows.inspect import workflow_run
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.model.contracts import Extend, Lease, Outcome, RoundTrip, Settlement
from queueops.model.states import State
from queueops.redis.broker import get_broker, get_role
from queueops.testing import run_worker
from tests.support.waiting import wait_until
from tests.workflows.test_backend import claim, in_mail, settle
from tests.workflows.test_end_to_end import agenda, empty, kinds
from tests.workflows.test_runs import add, approval, parent, raises, sums

pytestmark = pytest.mark.usefixtures("memory")

calls: list[str] = []


@activity(name="wf.wraps", retries=3, retry_on=(ConnectionError,))
def wraps() -> None:
    """Fails for good, with an error that a retry would help as its cause."""
    calls.append("wraps")
    try:
        raise ConnectionError("down")
    except ConnectionError as error:
        raise ValueError("bad order") from error


@activity(name="wf.backs_off", retries=3, retry=Retry(delay=100, backoff=3, jitter=0))
def backs_off() -> None:
    """Fails."""
    raise ConnectionError("down")


@workflow(name="wf.of_wraps")
async def of_wraps() -> None:
    """Calls it."""
    await wf.call(wraps)


@workflow(name="wf.of_backs_off")
async def of_backs_off() -> None:
    """Calls it."""
    await wf.call(backs_off)


@workflow(name="wf.five_timers")
async def five_timers() -> list[int]:
    """Five timers at once; the order in which they fire."""
    fired: list[int] = []

    async def waits(number: int) -> None:
        await wf.sleep(60 + number)
        fired.append(number)

    await asyncio.gather(*(waits(number) for number in range(5)))
    return fired


@workflow(name="wf.reads_all")
async def reads_all(count: int) -> list[int]:
    """Reads signals after a while."""
    await wf.call(add, 1, 1)
    return [await wf.signal("number") for _ in range(count)]


@workflow(name="wf.leaves_early")
async def leaves_early() -> str:
    """Returns while an activity, a timer and a child are open."""
    begun = [asyncio.ensure_future(wf.call(add, 1, 2)), asyncio.ensure_future(wf.sleep(60))]
    begun.append(asyncio.ensure_future(wf.child(approval.using(id="left:/behind"), 60.0)))
    await wf.signal("go")
    return f"{len(begun)} left"


def make_due(run: str) -> None:
    """Make all timers of a run due."""
    broker = get_broker()
    key = broker.keys("default").agenda
    broker.client.zadd(key, {entry: 1 + number for number, entry in enumerate(agenda())})
    assert all(run.encode() in entry for entry in agenda())


def failed(lease: Lease) -> str:
    """Settle a lease as failed; the word of the answer."""
    end = Settlement(lease.id, lease.fence, Outcome.ERROR, b'{"type":"ValueError","message":"no"}')
    return get_broker().exchange("default", "w2", RoundTrip(settle=[end])).settled[0]


def test_the_runs_of_two_pools_reach_one_worker_each_once() -> None:
    runs = [in_mail.start(), empty.start()]
    leases = [*claim("mail"), *claim("default")]
    assert [lease.id for lease in leases] == [run.id for run in runs]
    assert claim("mail") + claim("default") == []


def test_a_lease_that_was_taken_is_not_extended_by_its_former_worker() -> None:
    run = empty.start()
    (lease,) = claim()
    broker = get_broker()
    broker.control("default", "release", [run.id])
    (newer,) = claim()
    reply = broker.exchange("default", "w1", RoundTrip(extend=[Extend(lease.id, lease.fence, 60_000)]))
    assert (reply.lost, newer.fence > lease.fence) == ([run.id], True)


def test_an_activity_that_runs_longer_than_its_lease_keeps_it() -> None:
    run = sums.start(1)
    run_worker(until_idle=False)
    (lease,) = claim()
    broker = get_broker()
    agenda = broker.keys("default").agenda
    first_end = broker.exchange("default", "w1", RoundTrip()).now_ms + 1_000
    broker.client.zadd(agenda, {lease.id: first_end})
    reply = broker.exchange("default", "w1", RoundTrip(extend=[Extend(lease.id, lease.fence, 60_000)]))
    assert list(reply.lost) == []
    assert broker.client.zscore(agenda, lease.id) > first_end + 10_000
    wait_until(lambda: broker.exchange("default", "w2", RoundTrip()).now_ms > first_end)
    assert broker.exchange("default", "w2", RoundTrip(want=1)).leases == []
    ended = Settlement(lease.id, lease.fence, Outcome.SUCCESS, b"2")
    assert broker.exchange("default", "w1", RoundTrip(settle=[ended])).settled == ["OK"]
    run_worker()
    assert run.result(timeout=0) == 3


def test_the_end_of_an_activity_counts_only_under_its_lease() -> None:
    run = sums.start(1)
    run_worker(until_idle=False)
    (lease,) = claim()
    get_broker().control("default", "release", [lease.id])
    assert (settle(lease), failed(lease)) == ("STALE", "STALE")
    assert get_role(WorkflowCalls).inbox("default", run.id) == []
    run_worker()
    assert run.result(timeout=0) == 2


def test_due_timers_of_a_run_fire_together_and_in_order() -> None:
    run = five_timers.start()
    run_worker()
    make_due(run.id)
    assert run_worker() == 1
    assert run.result(timeout=0) == [0, 1, 2, 3, 4]


def test_what_a_run_leaves_open_ends_with_it_and_its_result_is_kept() -> None:
    run = leaves_early.start()
    run_worker(until_idle=False)
    run.signal("go")
    broker = get_broker()
    broker.control("default", "postpone", [f"{run.id}.1"], value="+60000")
    run_worker()
    assert run.result(timeout=0) == "3 left"
    assert agenda() == []
    assert broker.record("default", f"{run.id}.1").state == State.CANCELLED  # type: ignore[union-attr]
    assert approval.handle("left:/behind").state == State.CANCELLED
    assert claim() == []


def test_signals_that_come_before_the_code_waits_are_all_there_in_order() -> None:
    run = reads_all.start(1_200)
    run_worker(until_idle=False)
    store = get_role(WorkflowCalls)
    for number in range(1_200):
        text = events.encode(events.Entry("signal", name="number", payload=events.raw(b"%d" % number)))
        store.tell_run("default", "signal", text, run=run.id)
    run_worker()
    assert run.result(timeout=0) == list(range(1_200))


def test_an_error_of_the_engine_blocks_the_run_and_backs_off(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(decision_steps, "_value", lambda *_: {}["value"])
        run = sums.start(1)
        assert run_worker() == 1
    broker = get_broker()
    record = broker.record("default", run.id)
    assert record is not None
    assert (record.state, record.reason) == (State.POSTPONED, "KeyError: 'value'")
    assert record.due is not None
    broker.control("default", "run_now", [run.id])
    run_worker()
    assert run.result(timeout=0) == 2


def test_an_error_that_a_retry_does_not_help_is_not_retried_for_its_cause() -> None:
    calls.clear()
    run = of_wraps.start()
    run_worker()
    with pytest.raises(TaskFailed, match="bad order"):
        run.result(timeout=0)
    assert calls == ["wraps"]


def test_the_first_back_off_is_the_delay_itself() -> None:
    run = of_backs_off.start()
    run_worker()
    broker = get_broker()
    record = broker.record("default", f"{run.id}.1")
    assert record is not None
    assert record.due is not None
    now = broker.exchange("default", "w1", RoundTrip()).now_ms
    assert 60_000 < record.due - now <= 100_000


def test_a_run_is_kept_for_half_a_second_if_its_workflow_says_so() -> None:
    run = empty.using(keep=0.5).start()
    run_worker()
    broker = get_broker()
    record = broker.record("default", run.id)
    assert record is not None
    assert record.ended is not None
    assert broker.client.zscore(broker.keys("default").agenda, run.id) == record.ended + 500


def test_runs_are_listed_in_the_order_of_their_starts() -> None:
    started = []
    for number in range(6):  # some have ended, one waits, and one was never claimed
        started.append(
            (empty if number % 2 else approval).using(id=f"i{number}").start(*([] if number % 2 else [60])).id
        )
        if number < 4:
            run_worker()
    rows = inspect.workflow_runs().rows
    assert [row.id for row in rows] == started[::-1]
    times = [row.created_ms or 0 for row in rows]
    assert times == sorted(times, reverse=True)
    assert all(abs(at - inspect.now_ms()) < 3_600_000 for at in times)


def test_a_run_without_a_history_can_be_shown() -> None:
    run = empty.start()
    view = workflow_run(run.id)
    assert view is not None
    assert (view.length, view.lines, view.calls) == (0, (), ())


def test_a_store_that_forgot_the_library_takes_signals_and_steps() -> None:
    run = approval.start(60)
    run_worker()
    get_broker().client.function_flush()
    run.signal("approve", "Ada")
    get_broker().client.function_flush()
    run_worker()
    assert run.result(timeout=0) == "Ada"


@pytest.mark.parametrize("instance", ["a:b", "a/b", "a.1", "=+-@"])
def test_an_instance_may_have_each_character_of_an_id(instance: str) -> None:
    run = parent.start(instance)
    run_worker()
    approval.handle(instance).signal("approve", "yes")
    run_worker()
    assert run.result(timeout=0) == "child: yes"


def test_a_failed_run_is_shown_as_failed() -> None:
    run = raises.start()
    run_worker()
    assert run.state == State.FAILED
    assert kinds(run) == ["step", "end"]
    view: Any = workflow_run(run.id)
    assert view.lines[-1].text == "failed"
