"""A pushed task, seen from outside."""

from __future__ import annotations

import asyncio
import multiprocessing
import re
import sys
import threading
import time
import warnings

import pytest

import queueops
from queueops import TaskCancelled, TaskFailed, TaskGone
from queueops.errors import BadId, BadOption, BrokerUnavailable, QueueOpsError, ResultTimeout, TaskSuperseded
from queueops.model import contracts
from queueops.model.contracts import RoundTrip
from queueops.model.reasons import LONGEST_REASON
from queueops.model.states import State
from queueops.redis.broker import get_broker
from queueops.redis.reader import Reader
from queueops.redis.subscription import RedisListener
from queueops.results import waiting
from queueops.results.handle import TaskHandle
from queueops.testing import run_worker
from tests.support import results_for_tests as results
from tests.support import tasks_for_tests as tasks
from tests.support.waiting import wait_until


@pytest.fixture(autouse=True)
def closed():
    yield
    waiting.close()


def test_handles_of_one_task_are_equal():
    assert TaskHandle("a") == TaskHandle("a", word="OK")
    assert len({TaskHandle("a"), TaskHandle("a"), TaskHandle("a", "mail")}) == 2
    assert repr(TaskHandle("a", "mail")) == "<TaskHandle a in mail>"


def test_a_task_is_found_by_its_id_in_any_pool(namespace):
    handle = tasks.add.using(pool="mail").push(1)
    assert queueops.get(handle.id) == handle
    assert queueops.get("nothing") is None


@pytest.mark.parametrize("reason", ["r" * 3_000_000, "\ud800" + "r" * 600])
def test_of_a_reason_to_cancel_a_bounded_part_is_kept(namespace, reason):
    handle = tasks.add.push(1)
    assert handle.cancel(reason)
    assert handle.status().reason.replace("?", "r") == "r" * LONGEST_REASON


def test_a_record_with_a_state_that_is_none_is_an_error_of_our_own(namespace):
    handle = tasks.add.push(1)
    broker = get_broker()
    broker.client.hset(broker.keys("default").task(handle.id), "s", "bogus")
    for use in (TaskHandle.status, lambda handle: handle.state, lambda handle: handle.progress):
        with pytest.raises(QueueOpsError, match="the state 'bogus', which is none"):
            use(handle)


@pytest.mark.parametrize("said", ["nan", "inf", "1e400", "none"])
def test_what_a_record_says_of_progress_never_hides_the_result(namespace, said):
    handle = tasks.add.push(1)
    run_worker()
    broker = get_broker()
    broker.client.hset(broker.keys("default").task(handle.id), mapping={"pr": said, "to": said})
    assert (handle.progress, handle.result(timeout=0)) == (None, 2)


def test_a_handle_postpones_by_the_clock_of_the_store(namespace, monkeypatch):
    handle, broker = tasks.add.push(1), get_broker()
    monkeypatch.setattr(time, "time", lambda real=time.time: real() + 86_400)
    before = Reader(broker).now_ms()
    assert handle.postpone(60)
    due = handle.status().due_ms
    assert before + 60_000 <= due <= Reader(broker).now_ms() + 60_000


@pytest.mark.parametrize("id", ["a b", "", None, 5, "a#1", "x" * 201])
def test_what_can_be_no_id_is_no_task_that_is_gone(namespace, id):
    with pytest.raises(BadId):
        queueops.get(id)
    for use in (TaskHandle.status, TaskHandle.cancel, TaskHandle.retry, TaskHandle.result, lambda handle: handle.state):
        with pytest.raises(BadId):
            use(TaskHandle(id))
        with pytest.raises(BadId, match="pool"):
            use(TaskHandle("x", "a b"))


def test_the_status_tells_where_a_task_is(namespace):
    handle = tasks.add.using(tags=["a"], priority=3).push(1)
    status = handle.status()
    assert (status.state, status.name, status.tags, status.priority) == (State.PENDING, tasks.add.name, ("a",), 3)
    assert not status.is_over
    run_worker()
    assert handle.status().is_over
    gone = TaskHandle("nothing")
    assert (gone.status(), gone.state, gone.progress) == (None, None, None)


def test_a_waiter_gets_the_result_when_the_task_ends(namespace, later):
    handle = tasks.add.push(1, 2)
    later()
    assert handle.result(60) == 3
    assert handle.result(0) == 3


def test_a_result_of_none_is_a_result(namespace):
    handle = results.maybe.using(id="x").push()
    lease = get_broker().exchange("default", "w", RoundTrip(want=1)).leases[0]
    end = contracts.Settlement(lease.id, lease.fence, contracts.Outcome.SUCCESS)
    get_broker().exchange("default", "w", RoundTrip(settle=[end]))
    assert handle.result(1) is None


def test_a_failure_tells_what_was_raised(namespace):
    handle = tasks.fail.using(retries=0).push("oh")
    run_worker()
    with pytest.raises(TaskFailed) as caught:
        handle.result(1)
    assert str(caught.value) == f"The task {handle.id} failed: ValueError: oh"
    assert "raise ValueError(text)" in caught.value.traceback
    assert handle.status().error == "oh"


def test_an_unencodable_result_fails_the_task_and_says_so(namespace):
    handle = tasks.unencodable.push()
    run_worker()
    with pytest.raises(TaskFailed, match="it is an object"):
        handle.result(1)


@pytest.mark.parametrize("timeout", ["x", -1, float("nan"), True])
def test_a_time_to_wait_that_is_none_is_refused(timeout):
    with pytest.raises(BadOption, match="The option timeout is"):
        TaskHandle("any").result(timeout)


def test_a_cancelled_task_tells_the_reason_to_its_waiters(namespace):
    handle = tasks.add.push(1)
    timer = threading.Timer(0.05, handle.cancel, ["not needed"])
    timer.start()
    with pytest.raises(TaskCancelled, match="not needed"):
        handle.result(60)
    timer.join()
    assert not handle.cancel()


def test_one_that_was_cancelled_without_a_reason_ends_its_sentence(namespace):
    handle = tasks.add.push(1)
    handle.cancel()
    with pytest.raises(TaskCancelled, match=r" was cancelled$"):
        handle.result(60)


def test_waiting_ends_at_its_time(namespace):
    handle = tasks.add.push(1)
    began = time.monotonic()
    with pytest.raises(ResultTimeout) as caught:
        handle.result(0.2)
    assert time.monotonic() - began > 0.15
    assert str(caught.value).startswith(f"The task {handle.id} did not end within 0.2 s; it is pending.")
    with pytest.raises(ResultTimeout):
        asyncio.run(handle.aresult(0.1))


def test_what_is_gone_is_told(namespace):
    with pytest.raises(TaskGone):
        TaskHandle("nothing").result(1)


def test_a_waiter_learns_that_its_task_was_deleted(namespace, redis_client, monkeypatch):
    monkeypatch.setattr(waiting, "RECHECK", 0.1)
    handle = tasks.add.push(1)
    timer = threading.Timer(0.05, redis_client.delete, [get_broker().keys("default").task(handle.id)])
    timer.start()
    with pytest.raises(TaskGone):
        handle.result(60)
    timer.join()


def test_many_waits_share_one_thread_and_one_connection(namespace, redis_client, later):
    handles = [tasks.add.push(n) for n in range(30)]
    results = {}
    waiters = [threading.Thread(target=lambda h=h: results.update({h: h.result(60)})) for h in handles]
    for waiter in waiters:
        waiter.start()
    wait_until(lambda: sum(redis_client.pubsub_numsub(*_channels(handles))[i][1] for i in range(30)) == 30)

    def listening():
        clients = [client for client in redis_client.client_list() if int(client["sub"])]
        return len(clients), [thread.name for thread in threading.enumerate()].count("queueops-waiting")

    wait_until(lambda: listening() == (1, 1), say=listening)  # those of the test before end when they are idle
    later(0)
    for waiter in waiters:
        waiter.join(60)
    assert results == {handle: n + 1 for n, handle in enumerate(handles)}
    wait_until(lambda: not any(count for _, count in redis_client.pubsub_numsub(*_channels(handles))))


def _channels(handles):
    return [get_broker().keys(handle.pool).done(handle.id) for handle in handles]


def test_a_coroutine_waits_without_a_thread_of_its_own(namespace):
    handles = [tasks.add.push(n) for n in range(50)]

    async def main():
        waits = [asyncio.ensure_future(handle.aresult(60)) for handle in handles]
        await asyncio.sleep(0.2)
        await asyncio.to_thread(run_worker)
        return await asyncio.gather(*waits)

    assert asyncio.run(main()) == [n + 1 for n in range(50)]


def test_a_waiter_is_told_of_the_end_and_does_not_look_for_it(namespace, monkeypatch):
    monkeypatch.setattr(waiting, "RECHECK", 1000.0)
    for n in range(20):
        handle = tasks.add.push(n)
        timer = threading.Timer(0.02, run_worker, kwargs={"until_idle": False})
        timer.start()
        assert handle.result(60) == n + 1
        timer.join()


@pytest.mark.parametrize(("new_s", "asked"), [(0.0, 2), (1000.0, 1)], ids=["pushed before", "pushed now"])
def test_after_the_news_of_the_end_only_the_record_is_asked_for(namespace, monkeypatch, new_s, asked):
    monkeypatch.setattr(waiting, "RECHECK", 1000.0)
    monkeypatch.setattr(waiting, "NEW_S", new_s)
    broker, states = get_broker(), []
    ask = broker.wait

    def noted(*given, **named):
        states.append(ask(*given, **named))
        return states[-1]

    monkeypatch.setattr(broker, "wait", noted)
    handle = tasks.add.push(1)
    waiter = threading.Thread(target=lambda: handle.result(60))
    waiter.start()
    wait_until(lambda: len(states) == asked)
    run_worker()
    waiter.join(60)
    assert handle.state == "succeeded"
    assert states == ["pending"] * asked


def test_a_wait_for_what_was_pushed_now_fails_as_fast_as_others_without_a_store(namespace, monkeypatch):
    monkeypatch.setattr(waiting, "NEW_S", 1000.0)
    monkeypatch.setattr(waiting, "RECHECK", 1000.0)
    handle = tasks.add.push(1)

    def refuse(*given, **named):
        raise BrokerUnavailable(url="redis://nowhere", attempts=1, reason="refused")

    monkeypatch.setattr(RedisListener, "__init__", refuse)
    monkeypatch.setattr(get_broker(), "wait", refuse)
    with pytest.raises(BrokerUnavailable):
        handle.result(20)


def test_a_wait_survives_the_loss_of_its_connection(namespace, redis_client, later):
    handle = tasks.add.push(1)
    waiter_says = []
    waiter = threading.Thread(target=lambda: waiter_says.append(handle.result(60)))
    waiter.start()
    channel = _channels([handle])[0]
    wait_until(lambda: redis_client.pubsub_numsub(channel)[0][1])
    for _ in range(3):
        redis_client.client_kill_filter(_type="pubsub")
        wait_until(lambda: redis_client.pubsub_numsub(channel)[0][1])
    later(0)
    waiter.join(60)
    assert waiter_says == [2]


def test_the_end_during_an_outage_is_seen_after_it(namespace, redis_client):
    handle = tasks.add.push(1)
    waiter_says = []
    waiter = threading.Thread(target=lambda: waiter_says.append(handle.result(60)))
    waiter.start()
    wait_until(lambda: redis_client.pubsub_numsub(_channels([handle])[0])[0][1])
    with get_broker().client.pipeline(transaction=True) as pipe:  # both at once: the message has no receiver
        pipe.client_kill_filter(_type="pubsub")
        pipe.hset(get_broker().keys("default").task(handle.id), mapping={"s": "succeeded", "re": "7"})
        pipe.execute()
    waiter.join(60)
    assert waiter_says == [7]


def test_an_ended_task_can_be_run_again(namespace):
    handle = tasks.fail.using(retries=0).push()
    assert not handle.retry()
    run_worker()
    assert handle.state is State.FAILED
    assert handle.retry()
    assert handle.state is State.PENDING


def test_a_pending_task_can_be_postponed(namespace):
    handle = tasks.add.push(1)
    assert handle.postpone(60)
    assert handle.state is State.POSTPONED
    assert handle.run_now()
    assert handle.state is State.PENDING


def test_who_waits_gets_the_result_of_its_own_push_when_another_follows_at_once(namespace, later):
    handle = tasks.add.using(id="x").push(1)
    other = tasks.add.using(id="x", on_conflict="run_after").push(10)
    results = []
    waiter = threading.Thread(target=lambda: results.append(other.result(60)))
    waiter.start()
    later()
    assert handle.result(60) == 2
    waiter.join(60)
    assert results == [11]
    assert other.result(0) == 11


def test_a_push_that_was_replaced_has_no_result_and_says_so(namespace):
    handle = tasks.add.using(id="x").push(1)
    timer = threading.Timer(0.05, tasks.add.using(id="x", on_conflict="replace").push, [10])
    timer.start()
    with pytest.raises(TaskSuperseded, match="The task x was replaced by a later push of the same id"):
        handle.result(60)
    timer.join()
    run_worker()
    assert TaskHandle("x").result(0) == 11
    with pytest.raises(TaskGone):
        asyncio.run(handle.aresult(0))


def test_the_result_of_an_ended_push_is_not_mistaken_for_that_of_a_later_one(namespace):
    handle = tasks.add.using(id="x").push(1)
    run_worker()
    assert handle.result(0) == 2
    tasks.add.using(id="x").push(10)
    with pytest.raises(TaskSuperseded):
        handle.result(0)


def test_a_push_that_is_run_again_by_hand_is_still_the_same_push(namespace):
    handle = tasks.add.using(id="x").push(1)
    run_worker()
    assert handle.retry()
    again = tasks.add.using(id="x").push(10)
    assert again.word == "EXISTS"
    run_worker()
    assert handle.retry()
    run_worker()
    assert (handle.result(0), again.result(0)) == (2, 2)


def test_a_forked_child_waits_with_a_connection_of_its_own(namespace, later):
    handle = tasks.add.push(1)
    later()
    assert handle.result(60) == 2  # the parent has its thread and its connection now
    other = tasks.add.push(2)
    process = multiprocessing.get_context("fork").Process(target=lambda: sys.exit(other.result(60)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: the parent has threads, which is the point
        process.start()
    later()
    process.join(60)
    assert process.exitcode == 3
    third = tasks.add.push(3)
    later()
    assert third.result(60) == 4


def test_a_handle_of_another_pool_says_where_it_looked(namespace):
    handle = tasks.add.using(pool="mail").push(1)
    said = f"The pool default has no task {handle.id}: it was never pushed there"
    with pytest.raises(TaskGone, match=re.escape(said)):
        TaskHandle(handle.id).result(timeout=5)
