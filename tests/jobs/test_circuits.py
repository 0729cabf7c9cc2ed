"""Circuit breakers: a host that fails several times in a row is left alone, and one probe opens its lane again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from queueops import control, inspect, jobs
from queueops.kinds.jobs.store import JobCalls
from queueops.model.contracts import Outcome
from queueops.redis.broker import get_broker, get_role
from queueops.testing import run_worker
from tests.jobs.conftest import LOCAL, Register
from tests.jobs.servers import LocalServer, serving
from tests.kernel.desk import Desk

HOUR = 3_600_000


@pytest.fixture
def target(namespace: str, settings: Any) -> Iterator[LocalServer]:
    """A server that is down; two failures in a row open its circuit."""
    given = LOCAL | {"CIRCUIT_FAILURES": 2, "CIRCUIT_WAIT": 3600}
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": given}
    routes = {
        "/hook": lambda exchange: exchange.answer(503),
        "/gone": lambda exchange: exchange.answer(404),
        "/ok": lambda exchange: exchange.answer(200),
    }
    with serving(routes) as server:
        yield server


@pytest.fixture
def desk(target: LocalServer) -> Desk:
    return Desk(get_broker())


def destination() -> inspect.JobLane:
    (row,) = inspect.destinations().rows
    return row


def shut(desk: Desk, lane: str, until_ms: int) -> None:
    """Move the end of the open circuit, as if time had passed."""
    keys = get_broker().keys("default")
    get_broker().client.hset(keys.lane_conf(lane), "shut", until_ms)
    get_broker().client.zadd(keys.agenda, {f"~lane:{lane}": until_ms})


def made(target: LocalServer, count: int, path: str = "/hook") -> None:
    """Callbacks that wait: their jobs have ended."""
    given: Any = {"aggregation": "a", "handler": "work", "limit": 50, "callback_url": target.url(path)}
    jobs.submit_many([given] * count)


def test_failures_in_a_row_stop_the_callbacks_to_their_host_alone(target: LocalServer, handler: Register) -> None:
    handler(lambda job: None)
    made(target, 5)
    run_worker()
    row = destination()
    assert (len(target.asked), row.ready, row.failures) == (2, 3, 2), "the others have lost no attempt"
    assert 0 < row.shut_ms - inspect.now_ms() <= HOUR
    made(target, 1)
    assert run_worker() == 1, "a callback that is made now waits, too"
    with serving({"/hook": lambda exchange: exchange.answer(200)}, host="127.0.0.2") as other:
        made(other, 1)
        run_worker()
        assert len(other.asked) == 1
    Desk(get_broker()).check()


def test_a_lane_that_is_shut_is_an_alarm_of_its_own_and_not_paused(target: LocalServer, handler: Register) -> None:
    handler(lambda job: None)
    made(target, 5)
    run_worker()
    found = inspect.lane("default", destination().lane)
    assert found is not None
    assert (found.row.paused, found.row.shut_ms, found.row.drain_reason) == (False, destination().shut_ms, "shut")
    (alarm,) = found.alarms
    host = target.url("/").split("/")[2]
    assert alarm.text.startswith(f"The host {host} has failed several times in a row: 3 callbacks wait. The next is ")
    assert alarm.command == f"manage.py jobs close-circuit {host} --pool default"
    assert [alarm] == [each for each in inspect.snapshot().alarms if "has failed several times" in each.text]


def test_one_probe_runs_at_a_time_and_its_failure_doubles_the_wait(desk: Desk, target: LocalServer) -> None:
    made(target, 6)
    for lease in desk.claim(6):
        desk.settle(lease, Outcome.SUCCESS)
    store, lane = get_role(JobCalls), destination().lane
    old = desk.claim(2)
    for _ in old:
        store.host_failed("default", lane, 2, 1000, HOUR)
    store.host_failed("default", lane, 2, 1000, HOUR)
    first = destination().shut_ms - inspect.now_ms()
    assert 0 < first <= 1000, "a failure of what was sent before does not count"
    assert desk.claim(9) == []
    for lease in old:
        desk.settle(lease, Outcome.ERROR, b"{}", delay_ms=HOUR)
    desk.check()
    shut(desk, lane, inspect.now_ms() - 1)
    (probe,) = desk.claim(9)
    assert desk.claim(9) == []
    desk.check()
    store.host_failed("default", lane, 2, 1000, HOUR)
    desk.settle(probe, Outcome.ERROR, b"{}", delay_ms=HOUR)
    assert 1000 < destination().shut_ms - inspect.now_ms() <= 2000
    shut(desk, lane, inspect.now_ms() - 1)
    (probe,) = desk.claim(9)
    desk.settle(probe, Outcome.SUCCESS, b'{"status": 200}')
    assert (destination().shut_ms, destination().failures) == (None, 0)
    assert len(desk.claim(9)) == 2
    desk.check()


def test_a_probe_whose_worker_was_lost_is_followed_by_another(desk: Desk, target: LocalServer) -> None:
    made(target, 2)
    for lease in desk.claim(2):
        desk.settle(lease, Outcome.SUCCESS)
    lane = destination().lane
    get_role(JobCalls).host_failed("default", lane, 1, HOUR, HOUR)
    shut(desk, lane, inspect.now_ms() - 1)
    (probe,) = desk.claim(9)
    desk.expire(probe.id)
    (other,) = desk.claim(9)
    assert other.id != probe.id
    desk.check()


def test_a_lane_without_a_limit_has_one_probe_too(desk: Desk, target: LocalServer) -> None:
    made(target, 4)
    for lease in desk.claim(4):
        desk.settle(lease, Outcome.SUCCESS)
    lane = destination().lane
    control.set_lane("default", lane, limit=None)
    (old,) = desk.claim(1)
    get_role(JobCalls).host_failed("default", lane, 1, HOUR, HOUR)
    shut(desk, lane, inspect.now_ms() - 1)
    assert desk.claim(9) == [], "what was sent before still runs"
    desk.settle(old, Outcome.ERROR, b"{}", delay_ms=HOUR)
    (probe,) = desk.claim(9)
    desk.check()
    desk.settle(probe, Outcome.SUCCESS, b'{"status": 200}')
    assert len(desk.claim(9)) == 2
    desk.check()


def test_an_answer_that_refuses_the_callback_shows_that_the_host_works(target: LocalServer, handler: Register) -> None:
    handler(lambda job: None)
    made(target, 1)
    made(target, 1, "/gone")
    made(target, 1)
    run_worker()
    assert (destination().failures, destination().shut_ms) == (1, None)


def test_an_operator_closes_the_circuit(target: LocalServer, handler: Register) -> None:
    handler(lambda job: None)
    made(target, 4)
    run_worker()
    target.routes["/hook"] = target.routes["/ok"]
    assert control.close_circuit(destination().id)
    assert not control.close_circuit(destination().id)
    assert run_worker() == 2
    assert len(inspect.callbacks("delivered").rows) == 2


def test_the_circuit_can_be_switched_off(target: LocalServer, handler: Register, settings: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": LOCAL | {"CIRCUIT_FAILURES": 0}}
    handler(lambda job: None)
    made(target, 7)
    run_worker()
    assert (len(target.asked), destination().failures) == (7, 0)
