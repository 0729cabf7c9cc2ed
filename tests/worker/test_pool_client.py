"""One pool as a worker process sees it."""

from __future__ import annotations

import time

import pytest

from queueops.model.contracts import Lease, Outcome, Settlement
from queueops.redis.broker import get_broker
from queueops.redis.wire import read_token
from queueops.worker.loop.pool_client import PoolClient
from tests.support import tasks_for_tests as tasks
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("namespace")


@pytest.fixture
def client():
    client = PoolClient("default", "w1", get_broker(), 1000.0, lambda lease: -1)
    yield client
    client.transport.close()


def is_due(client, now=None, *, hungry=False):
    now = time.monotonic() if now is None else now
    return client.due_at(now, 0, hungry=hungry) == now


def send(client, want=0):
    assert client.send(time.monotonic(), want, idle=False)


def test_a_cancellation_is_heard_although_the_lease_itself_is_still_on_its_way(client):
    send(client)
    client.receive()  # loads the script: a store without it claims only when the reply is read
    handle = tasks.add.push(1)
    send(client, want=1)
    wait_until(lambda: handle.state == "locked", say=lambda: handle.state)
    assert handle.cancel("not needed")
    client.ask_about(handle.id)  # as the wake-up token says, which came first
    send(client)
    assert [lease.id for lease in client.receive().leases] == [handle.id]
    assert client.receive().cancels == []
    assert is_due(client)
    send(client)
    assert client.receive().cancels == [(handle.id, "not needed")]


def lease_end(handle):
    """When the lease ends, in ms of the store."""
    broker = get_broker()
    return broker.client.zscore(broker.keys("default").agenda, handle.id)


def shorten(handle):
    """Move the end of the lease to the near future, so that a renewal is seen."""
    broker = get_broker()
    broker.client.zadd(broker.keys("default").agenda, {handle.id: int(broker.client.time()[0]) * 1000 + 10_000})
    return lease_end(handle)


def test_leases_are_renewed_at_a_third_of_their_time_each_time():
    begun = time.monotonic()
    client = PoolClient("default", "w1", get_broker(), 90.0, lambda lease: -1)
    handle = tasks.add.push(1)
    send(client, want=1)
    (lease,) = client.receive().leases
    client.next_at = float("inf")  # it looks for no more work
    now = client.due_at(begun, 0, hungry=False)
    assert begun + 30 <= now <= time.monotonic() + 30
    for _ in range(3):
        assert not is_due(client, now - 0.001, hungry=True)
        assert is_due(client, now)
        short = shorten(handle)
        assert client.send(now, 0, idle=False)
        assert client.receive().lost == []
        assert lease_end(handle) > short
        assert client.held[lease.id] == (lease, now + 90)
        now += 30
        assert client.due_at(begun, 0, hungry=False) == now
    client.transport.close()


def test_what_is_under_way_when_the_supervisor_took_over_is_given_back(client):
    send(client)
    client.receive()
    handles = [tasks.add.push(1) for _ in range(2)]
    send(client, want=1)
    client.distrust()
    send(client, want=1)  # was sent later: no other exchange may have given this one back
    assert client.receive().leases == []
    (lease,) = client.receive().leases
    assert list(client.held) == [lease.id]
    assert [(end.outcome, end.id) for end in client.to_settle] == [("release", handles[0].id)]
    send(client)
    assert client.receive().settled == ["OK"]
    assert [handle.state for handle in handles] == ["pending", "locked"]


@pytest.mark.parametrize(("failures", "slow", "flushed"), [(0, False, False), (1, False, True), (0, True, True)])
def test_metrics_are_given_up_in_an_outage_and_where_a_reply_is_overdue(client, monkeypatch, failures, slow, flushed):
    tasks.add.push(1)
    send(client, want=1)
    (lease,) = client.receive().leases
    assert client.is_flushed(0.0)
    client.metrics.add(lease, Settlement(lease.id, lease.fence, Outcome.SUCCESS), 5.0)
    client.transport.failures = failures
    monkeypatch.setattr(type(client.transport), "is_slow", lambda _transport, _now: slow)
    assert client.is_flushed(0.0) is flushed


def test_asking_about_a_task_that_is_not_held_ends(client):
    client.ask_about("somebody else's")
    for _ in range(2):
        assert is_due(client)
        send(client)
        client.receive()
    assert not is_due(client)


def test_a_word_of_commands_is_worth_a_round_trip_of_its_own(client):
    send(client)
    client.receive()
    assert not is_due(client)
    client.has_commands = True
    assert is_due(client)
    send(client)
    assert client.receive().commands == []
    assert not is_due(client)


def test_who_asks_for_nothing_while_it_waits_looks_again_soon(client):
    assert client.send(time.monotonic(), 4, idle=True)
    send(client)  # takes it off the list of those who wait
    client.receive()
    client.receive()
    assert client.dry
    assert client.due_at(0.0, 4, hungry=False) < time.monotonic() + 1


def handed(client):
    """A task that is handed to this worker, as its token says; what it was handed before may be pending again."""

    def waits():
        assert client.send(time.monotonic(), 4, idle=True)
        return not client.receive().leases

    wait_until(waits)
    tasks.add.push(1)
    broker = get_broker()
    (token,) = broker.client.lrange(broker.keys("default").wake("w1"), 0, -1)
    broker.client.delete(broker.keys("default").wake("w1"))
    return read_token("default", token)


def test_what_was_handed_over_a_moment_ago_is_begun_and_what_is_older_is_not(client):
    found = handed(client)
    assert not client.hold(found, time.monotonic() + 1.5)
    wait_until(lambda: client.hold(handed(client), time.monotonic()))  # a slow machine may take too long once


def test_what_was_handed_over_before_all_that_is_unknown_was_given_back_is_not_begun(client):
    found = handed(client)
    client.transport.failures = 1
    assert not client.hold(found, time.monotonic())
    assert client.forget(found)
    assert client.send(time.monotonic(), 0, idle=False)
    client.receive()
    assert not client.hold(found, time.monotonic())
    assert get_broker().record("default", found.id).state == "pending"


@pytest.mark.parametrize(("parent_id", "kind", "most"), [("", "task", 128), ("g", "task", 64), ("m", "chunk", 128)])
def test_fewer_ends_of_parts_are_settled_in_one_round_trip(client, parent_id, kind, most):
    now = time.monotonic()
    for number in range(150):
        lease = Lease(id=f"gone{number}", fence=1, kind=kind, parent_id=parent_id)
        client.ended(lease, Settlement(lease.id, lease.fence, Outcome.SUCCESS), 1.0, now)
    send(client)
    assert len(client.receive().settled) == most
    send(client)
    assert len(client.receive().settled) == min(most, 150 - most)
