"""One pool as a worker process sees it."""

from __future__ import annotations

import time

import pytest

from queueops.redis.broker import get_broker
from queueops.worker.station import Station
from tests import tasks_for_tests as tasks

pytestmark = pytest.mark.usefixtures("namespace")


@pytest.fixture
def station():
    station = Station("default", "w1", get_broker(), 1000.0, lambda lease: -1)
    yield station
    station.courier.close()


def send(station, want=0):
    assert station.send(time.monotonic(), want, idle=False)


def test_a_cancellation_is_heard_although_the_lease_itself_is_still_on_its_way(station):
    handle = tasks.add.push(1)
    send(station, want=1)
    while handle.state == "pending":
        pass
    assert handle.cancel("not needed")
    station.ask_about(handle.id)  # as the wake-up token says, which came first
    send(station)
    assert [lease.id for lease in station.receive().leases] == [handle.id]
    assert station.receive().cancels == []
    assert station.due(time.monotonic(), 0, hungry=False)
    send(station)
    assert station.receive().cancels == [(handle.id, "not needed")]


def test_asking_about_a_task_that_is_not_held_ends(station):
    station.ask_about("somebody else's")
    for _ in range(2):
        assert station.due(time.monotonic(), 0, hungry=False)
        send(station)
        station.receive()
    assert not station.due(time.monotonic(), 0, hungry=False)
