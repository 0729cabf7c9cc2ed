"""Circuit breakers: an address that fails several times in a row is left alone until a probe is delivered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from queueops import control, inspect, jobs
from queueops.kinds.jobs.aggregations.circuit_rows import Circuit
from queueops.kinds.jobs.callbacks.circuits import address_of
from queueops.kinds.jobs.checks import check_circuit_key
from queueops.kinds.jobs.store import JobCalls
from queueops.redis.broker import get_broker, get_role
from queueops.testing import run_worker
from tests.jobs.conftest import LOCAL, Register
from tests.jobs.servers import LocalServer, serving
from tests.kernel.desk import Desk

HOUR = 3_600_000


@pytest.fixture
def target(namespace: str, settings: Any, handler: Register) -> Iterator[LocalServer]:
    """A server with a good and a bad address; two failures in a row open a circuit."""
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": LOCAL | {"CIRCUIT_FAILURES": 2, "CIRCUIT_WAIT": 3600}}
    handler(lambda job: None)
    routes = {
        "/hook": lambda exchange: exchange.answer(503),
        "/gone": lambda exchange: exchange.answer(404),
        "/ok": lambda exchange: exchange.answer(200),
    }
    with serving(routes) as server:
        yield server


def destination() -> inspect.JobLane:
    (row,) = inspect.destinations().rows
    return row


def circuit() -> Circuit:
    (found,) = destination().circuits
    return found


def key(name: str = "circuits") -> str:
    return f"{get_broker().keys('default').prefix}:{name}"


def until_now(name: str) -> None:
    """Move the end of a circuit's time."""
    fails, at, _, *rest = get_broker().client.hget(key(), name).decode().split(" ")
    get_broker().client.hset(key(), name, " ".join((fails, at, str(inspect.now_ms() - 1), *rest)))


def end(name: str) -> None:
    """Let the time be over for which a circuit is open, or its probe has it."""
    until_now(name)
    control.run_now([row.id for row in inspect.callbacks("scheduled").rows])


def made(target: LocalServer, count: int, path: str = "/hook") -> None:
    """Callbacks that wait: their jobs have ended."""
    given: Any = {"aggregation": "a", "handler": "work", "limit": 50, "callback_url": target.url(path)}
    jobs.submit_many([given] * count)


def asked(target: LocalServer) -> Counter[str]:
    return Counter(each.path for each in target.asked)


def test_a_bad_address_holds_no_callback_of_another_address_of_its_host(target: LocalServer) -> None:
    made(target, 8)
    run_worker()
    made(target, 5, "/ok")
    run_worker()
    assert asked(target) == {"/hook": 2, "/ok": 5}
    found = circuit()
    assert (found.address, found.state, found.failures) == (target.url("/hook"), "open", 2)
    assert (found.waiting, 0 < found.shut_ms - inspect.now_ms() <= HOUR) == (6, True)
    rows = inspect.callbacks("scheduled").rows
    assert [row.attempt for row in rows] == [0] * 6, "no attempt lost"
    first, *others = sorted(row.due_ms - inspect.now_ms() for row in rows if row.due_ms is not None)
    assert first <= HOUR < min(others), "one asks first; the others do not take the rate of the host meanwhile"
    Desk(get_broker()).check()


def test_the_query_and_the_user_of_a_url_make_no_other_address(target: LocalServer) -> None:
    for number in range(4):
        made(target, 1, f"/hook?job={number}")
    run_worker()
    assert sum(asked(target).values()) == 2
    with serving(target.routes, host="127.0.0.2") as other:
        made(other, 1)
        run_worker()
        assert len(other.asked) == 1


def of_host(url: str) -> str:
    return url.split("/")[2]


def test_a_project_may_say_which_addresses_share_a_circuit(target: LocalServer, settings: Any) -> None:
    given = settings.QUEUEOPS["JOBS"] | {"CIRCUIT_KEY": f"{__name__}.of_host"}
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": given}
    for number in range(4):
        made(target, 1, f"/none/{number}" if number > 1 else "/hook")
    run_worker()
    assert (asked(target), circuit().address) == ({"/hook": 2}, f"127.0.0.1:{target.port}")


@pytest.mark.parametrize("path", ["nothing.here", "queueops.kinds.jobs.callbacks.circuits.LONGEST", "plain"])
def test_a_function_that_cannot_be_used_is_an_error_of_the_check(namespace: str, settings: Any, path: str) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": {"CIRCUIT_KEY": path}}
    (error,) = check_circuit_key()
    assert error.msg.startswith(f"""QUEUEOPS["JOBS"]["CIRCUIT_KEY"] is {path!r}, which cannot be used: """)
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": {"CIRCUIT_KEY": f"{__name__}.of_host"}}
    assert check_circuit_key() == []


def test_an_open_circuit_is_one_alarm_without_the_path(target: LocalServer) -> None:
    desk = Desk(get_broker())
    desk.exchange(metrics={"err|callback": 10})
    (alarm,) = [each for each in inspect.snapshot().alarms if each.kind == "failing"]
    assert (alarm.verb, alarm.command) == ("", "manage.py queue name callback"), "a pause would hold those of all hosts"
    made(target, 5)
    run_worker()
    host = f"127.0.0.1:{target.port}"
    (alarm,) = [each for each in inspect.snapshot().alarms if each.kind in ("circuit", "failing")]
    said = f"An address of the host {host} has failed several times in a row: 3 callbacks wait. The next is tried in "
    assert alarm.text.startswith(said)
    assert alarm.command == f"manage.py jobs close-circuit {host} --pool default"
    assert alarm.followers == ("failing callback",)


def test_one_probe_is_sent_at_a_time_and_its_failure_doubles_the_wait(target: LocalServer) -> None:
    store, name = get_role(JobCalls), target.url("/hook")
    assert store.ask_circuit("default", name, "c1", 5000) == (0, False), "no failure of the address is noted"
    for _ in range(3):
        store.address_failed("default", name, "to:a", 2, 1000, HOUR)
    assert store.ask_circuit("default", name, "c1", 5000)[0] in range(1, 1001), "the third was sent before"
    end(name)
    assert store.ask_circuit("default", name, "c1", 5000) == (0, True)
    assert store.ask_circuit("default", name, "c2", 5000)[0] in range(1001, 5001), "c1 is the probe"
    store.address_failed("default", name, "to:a", 2, 1000, HOUR)
    assert store.ask_circuit("default", name, "c2", 5000)[0] in range(1001, 2001)
    end(name)
    assert store.ask_circuit("default", name, "c2", 5000) == (0, True)
    end(name)
    assert store.ask_circuit("default", name, "c3", 5000) == (0, True), "the probe was lost with its worker"
    store.address_failed("default", name, "to:a", 2, 1000, 1500)
    assert store.ask_circuit("default", name, "c1", 5000)[0] in range(1001, 1501), "the wait has a bound"
    assert store.close_circuits("default", name) == 1
    assert store.ask_circuit("default", name, "c1", 5000) == (0, False)


def test_a_probe_that_is_delivered_sends_those_that_wait_at_once(target: LocalServer) -> None:
    made(target, 5)
    run_worker()
    target.routes["/hook"] = target.routes["/ok"]
    client = get_broker().client
    (probe, *others) = [row.id for row in inspect.callbacks("scheduled").rows]
    until_now(target.url("/hook"))
    control.run_now([probe])
    assert run_worker() == 3
    assert {row.id for row in inspect.callbacks("delivered").rows} == {probe, *others}
    assert (destination().circuits, client.exists(key("circuits:waiting"))) == ((), 0)
    Desk(get_broker()).check()


@pytest.mark.parametrize("status", [404, 409, 423, 425])
def test_an_answer_about_one_callback_shows_that_its_address_works(target: LocalServer, status: int) -> None:
    made(target, 1)
    run_worker()
    assert (circuit().failures, circuit().state) == (1, "closed")
    target.routes["/hook"] = lambda exchange: exchange.answer(status)
    made(target, 1)
    run_worker()
    assert destination().circuits == ()


@pytest.mark.parametrize("place", ["host", "address"])
def test_an_operator_closes_the_circuit(target: LocalServer, place: str) -> None:
    made(target, 4)
    run_worker()
    target.routes["/hook"] = target.routes["/ok"]
    named = destination().id if place == "host" else target.url("/hook?x=1")
    assert not control.close_circuit(target.url("/ok"))
    assert control.close_circuit(named)
    assert not control.close_circuit(named)
    assert run_worker() == 2
    assert len(inspect.callbacks("delivered").rows) == 2


def test_more_callbacks_than_one_call_starts_are_sent_too(target: LocalServer) -> None:
    store, name = get_role(JobCalls), target.url("/hook")
    store.address_failed("default", name, "to:a", 1, HOUR, HOUR)
    for number in range(1203):
        store.ask_circuit("default", name, f"c{number}", 1000)
    store.ask_circuit("default", f"{name}2", "c1", 1000)
    assert store.close_circuits("default", name) == 1
    assert get_broker().client.exists(key(), key("circuits:waiting")) == 0


def test_old_circuits_make_room_for_new_ones(target: LocalServer) -> None:
    store, client = get_role(JobCalls), get_broker().client
    row = f"1 {inspect.now_ms() - 25 * HOUR} 0 0 0 to:a"
    client.hset(key(), mapping={f"http://h/{number}": row for number in range(1000)})
    store.address_failed("default", "http://h/new", "to:a", 1, HOUR, HOUR)
    assert client.hkeys(key()) == [b"http://h/new"]


def test_a_callback_that_is_cancelled_while_it_waits_is_not_sent(target: LocalServer) -> None:
    made(target, 3)
    run_worker()
    (waiting,) = [row.id for row in inspect.callbacks("scheduled").rows]
    assert circuit().waiting == 1
    control.cancel([waiting])
    assert circuit().waiting == 0
    assert control.close_circuit(target.url("/hook"))
    assert run_worker() == 0
    assert inspect.task(waiting).state == "cancelled"


def test_a_callback_that_goes_to_another_address_does_not_wait_for_the_first(target: LocalServer) -> None:
    made(target, 3)
    run_worker()
    (waiting,) = [row.id for row in inspect.callbacks("scheduled").rows]
    control.redirect_callbacks([waiting], target.url("/ok"))
    assert circuit().waiting == 0
    run_worker()
    assert asked(target)["/ok"] == 1


def test_the_circuit_can_be_switched_off(target: LocalServer, settings: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": LOCAL | {"CIRCUIT_FAILURES": 0}}
    made(target, 7)
    run_worker()
    assert (len(target.asked), destination().circuits) == (7, ())


def test_a_very_long_address_has_a_digest(target: LocalServer) -> None:
    from queueops.kinds.jobs.callbacks.callback_plans import Target

    long = [address_of(Target("http", f"https://Ann:x@H.example/{'a' * 1000}{end}?q")) for end in "bc"]
    assert [len(each) for each in long] == [365, 365]
    assert long[0].startswith("https://h.example/aaa")
    assert long[0] != long[1]
    assert address_of(Target("kafka", "orders")) == "kafka:orders"
