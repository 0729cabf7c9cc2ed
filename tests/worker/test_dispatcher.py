"""What a process does with a task that it was handed."""

from __future__ import annotations

import time

import pytest

from queueops.model.contracts import Lease
from queueops.pool_messages.dispatcher import Outbox
from queueops.redis.broker import get_broker
from queueops.redis.wire import read_token
from queueops.worker.execution.thread_executor import ThreadExecutor
from queueops.worker.execution.time_limits import TimeLimits
from queueops.worker.loop.lease_dispatcher import Dispatcher
from queueops.worker.loop.prefetch import Prefetch
from queueops.worker.loop.progress_buffer import ProgressBuffer
from queueops.worker.options import WorkerOptions
from queueops.worker.shared_slot_table import SlotTable
from tests.support import tasks_for_tests as tasks
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("namespace")


@pytest.fixture
def dispatcher():
    broker, table = get_broker(), SlotTable(2)
    channel = ProgressBuffer(broker)
    prefetch = Prefetch(1, 0)
    executor = ThreadExecutor(1, table, channel, lambda: None, lambda: None)
    watch, outbox = TimeLimits(executor, prefetch.stuck_after_ms), Outbox(broker, lambda pool: None)
    dispatcher = Dispatcher(
        WorkerOptions(threads=1), "w1", broker, executor, watch, prefetch, channel, outbox, lambda _: None
    )
    yield dispatcher
    outbox.close(60)
    dispatcher.clients[0].transport.close()
    assert executor.close(60)
    table.close()


@pytest.mark.parametrize(("processes", "under_way"), [(1, 1), (2, 0)])
def test_only_a_process_without_siblings_sends_before_the_last_answer_has_come(dispatcher, processes, under_way):
    dispatcher._is_alone = WorkerOptions(processes=processes).is_alone
    dispatcher.exchange(time.monotonic())
    (client,) = dispatcher.clients
    assert len(client.transport.under_way) == under_way
    dispatcher.closed = True
    dispatcher.exchange(time.monotonic())


@pytest.mark.parametrize(("given", "most"), [({}, 128), ({"processes": 2}, 128), ({"batch": 5}, 5)])
def test_a_round_trip_claims_no_more_than_a_batch(dispatcher, given, most):
    dispatcher._options = WorkerOptions(threads=200, **given)
    dispatcher._ahead = 1000
    assert dispatcher._room() == most


def handed(dispatcher):
    """A task that this process is handed while it waits, and its token."""
    broker = get_broker()
    keys = broker.keys("default")

    def waits():
        dispatcher.collect(time.monotonic())
        dispatcher.exchange(time.monotonic())
        return dispatcher.is_empty() and broker.client.zcard(keys.idle)

    wait_until(waits)
    handle = tasks.add.push(1)
    (token,) = broker.client.lrange(keys.wake("w1"), 0, -1)
    broker.client.delete(keys.wake("w1"))
    return handle, read_token("default", token)


def begun(dispatcher):
    """One that was begun: on a slow machine one may be too old before it is read, and goes back."""
    handle, token = handed(dispatcher)
    dispatcher.take(dispatcher.clients[0], token)
    return handle if dispatcher.held() else None


def test_it_is_begun_and_its_lease_is_renewed_at_once(dispatcher):
    handle = wait_until(lambda: begun(dispatcher))
    record = get_broker().record("default", handle.id)
    assert (record.state, record.fence, record.handed) == ("locked", record.uid, None)

    def settled():
        dispatcher.collect(time.monotonic())
        return dispatcher.flush(time.monotonic() + 60) and handle.state == "succeeded"

    wait_until(settled)


def test_it_counts_what_has_ended_and_what_has_failed(dispatcher):
    tasks.add.push(1)
    tasks.fail.push()

    def has_ended():
        dispatcher.collect(time.monotonic())
        dispatcher.exchange(time.monotonic())
        return dispatcher.finished == 2

    wait_until(has_ended)
    assert dispatcher.failed == 1
    assert dispatcher.ran_ms > 0


def test_notes_wait_for_their_next_turn_or_for_a_settlement(dispatcher):
    channel, lease, now = dispatcher._channel, Lease(id="t", fence=1), time.monotonic()
    for before_settling, waits in ((False, False), (False, True), (True, False)):
        channel.log(lease, "a line")
        dispatcher.send_notes(now, before_settling=before_settling)
        assert bool(channel.notes) is waits


def test_one_that_begins_nothing_more_gives_it_back(dispatcher):
    handle, token = handed(dispatcher)
    dispatcher.closed, before = True, dispatcher.claimed
    dispatcher.take(dispatcher.clients[0], token)
    dispatcher.exchange(time.monotonic())
    assert (handle.state, dispatcher.claimed, dispatcher.held()) == ("pending", before, [])


def test_one_whose_slots_are_taken_gives_it_back_and_tells_that_it_was_not_started(dispatcher):
    wait_until(lambda: begun(dispatcher))
    (client,) = dispatcher.clients
    dispatcher.take(client, Lease(id="other", fence=9, handed_ms=10**15))
    running = Lease(id="running", fence=10)
    client.hold(running, time.monotonic())
    dispatcher._executor.slot_of = lambda _: object()
    dispatcher.release([running], time.monotonic())
    ends = [(end.id, end.outcome, end.delay_ms) for end in client.to_settle]
    assert ends == [("other", "release", -1), ("running", "release", 0)]
