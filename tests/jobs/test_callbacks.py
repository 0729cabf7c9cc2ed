"""The end of a job makes its callback in the same call, and a worker delivers it to a real HTTP server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from queueops import Permanent, control, inspect, jobs
from queueops.errors import BadOption
from queueops.errors.job_network import AddressRefused
from queueops.jobs import Job
from queueops.kinds.jobs.callbacks.callback_plans import Targets, encode_callbacks
from queueops.model.contracts import Outcome, Push
from queueops.redis.broker import get_broker
from queueops.redis.store_client import StoreClient
from queueops.testing import run_worker
from tests.jobs.conftest import LOCAL, Register
from tests.jobs.servers import Exchange, LocalServer, serving
from tests.kernel.desk import Desk
from tests.support.for_each import for_each


@pytest.fixture
def target(namespace: str, settings: Any) -> Iterator[LocalServer]:
    """A server that takes callbacks at /ok, and others with what their path says."""
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": LOCAL}
    routes = {
        "/ok": lambda exchange: exchange.answer(202, b"thanks"),
        "/gone": lambda exchange: exchange.answer(410),
        "/busy": lambda exchange: exchange.answer(503, b"later\nplease", Retry_After="120"),
    }
    with serving(routes) as server:
        yield server


@pytest.fixture
def desk(target: LocalServer) -> Desk:
    return Desk(get_broker())


def callback_of(job: Any) -> inspect.CallbackRow:
    """The callback that the last end of a job has made."""
    (made,) = inspect.task(job.id).followed_by
    (row,) = [row for row in inspect.callbacks().rows if row.id == made.id]
    return row


def fail_once(answers: list[int]) -> Any:
    """A route that gives these answers, one after the other."""

    def route(exchange: Exchange) -> None:
        exchange.answer(answers.pop(0))

    return route


def test_a_success_is_told_with_its_result(target: LocalServer, handler: Register) -> None:
    handler(lambda job: {"image_size": "10x10", "response_code": 200, "download_url": "https://files.example/1"})
    job = jobs.submit(
        aggregation="a", handler="work", url="https://a.example/1", extra='{"n": 1}', callback_url=target.url("/ok")
    )
    assert run_worker() == 2
    (asked,) = target.asked
    row = callback_of(job)
    assert (asked.method, asked.headers["content-type"]) == ("POST", "application/json")
    assert asked.headers["webhook-id"] == row.id
    assert json.loads(asked.body) == {
        "success": True,
        "job_id": job.id,
        "resource_url": "https://a.example/1",
        "extra": '{"n": 1}',
        "error": "",
        "image_size": "10x10",
        "download_url": "https://files.example/1",
        "response_code": 200,
        "result": job.result(timeout=1),
        "delivered": True,
        "delivery_error": "",
    }
    assert (row.state, row.answer, row.job) == ("succeeded", "HTTP 202: thanks", job.id)
    assert inspect.task(row.id).follows == job.id


def test_a_failure_goes_to_the_target_of_errors_with_the_code_of_the_answer(
    target: LocalServer, handler: Register
) -> None:
    def work(job: Job) -> None:
        error = OSError("HTTP 500: not found, HTTP 503: here")
        error.response_code = 404  # type: ignore[attr-defined]
        raise Permanent(error)

    handler(work)
    target.routes["/error"] = target.routes["/ok"]
    jobs.submit(
        aggregation="a", handler="work", callback_url=target.url("/ok"), callback_error_url=target.url("/error")
    )
    run_worker()
    (asked,) = target.asked
    told = json.loads(asked.body)
    assert (asked.path, told["success"], told["error"]) == ("/error", False, "HTTP 500: not found, HTTP 503: here")
    assert (told["response_code"], told["download_url"], told["result"]) == (404, "", None)


def test_a_target_of_errors_alone_hears_of_no_success(target: LocalServer, handler: Register) -> None:
    handler(lambda job: None)
    jobs.submit(aggregation="a", handler="work", callback_error_url=target.url("/ok"))
    assert (run_worker(), target.asked) == (1, [])


def test_a_cancelled_and_a_crashed_job_call_back_but_no_deleted_one(target: LocalServer, desk: Desk) -> None:
    given: Any = {"aggregation": "a", "handler": "work", "callback_url": target.url("/ok")}
    crashed = jobs.submit(**given)
    while not desk.record(crashed.id).is_over:
        assert desk.lease().id == crashed.id
        desk.expire(crashed.id)
    cancelled, deleted = jobs.submit_many([given, given])
    control.cancel([cancelled.id], "too old")
    control.cancel([deleted.id])
    control.delete([deleted.id])
    run_worker()
    told = {each["job_id"]: each["error"] for each in (json.loads(asked.body) for asked in target.asked)}
    assert told[cancelled.id] == "cancelled: too old"
    assert told[crashed.id].startswith("crashed")
    assert len(target.asked) == 3, "the cancel of the third one has called back, and its delete has not"


def test_each_attempt_sends_the_same_body_under_the_same_id(target: LocalServer, handler: Register) -> None:
    answers = [500, 429, 503, 200]
    target.routes["/flaky"] = fail_once(answers)
    handler(lambda job: [1.5, "é"])
    job = jobs.submit(aggregation="a", handler="work", callback_url=target.url("/flaky"))
    run_worker()
    for _ in range(3):
        assert callback_of(job).state == "restart"
        control.run_now([callback_of(job).id])
        run_worker()
    row = callback_of(job)
    assert (row.state, row.attempt, answers) == ("succeeded", 3, [])
    assert len({(asked.body, asked.headers["webhook-id"]) for asked in target.asked}) == 1


def test_the_callback_is_tried_again_when_the_target_asks_for_it(target: LocalServer, handler: Register) -> None:
    handler(lambda job: None)
    job = jobs.submit(aggregation="a", handler="work", callback_url=target.url("/busy"))
    run_worker()
    row = callback_of(job)
    assert (row.state, row.attempt, row.retries) == ("restart", 1, 9)
    assert row.answer == "HTTP 503: later please"
    assert 115_000 < row.due_ms - inspect.now_ms() <= 120_000


def test_the_delays_between_attempts_grow_and_are_spread(target: LocalServer, handler: Register) -> None:
    target.routes["/down"] = lambda exchange: exchange.answer(500)
    handler(lambda job: None)
    job = jobs.submit(aggregation="a", handler="work", callback_url=target.url("/down"))
    run_worker()
    waits = [callback_of(job).due_ms - inspect.now_ms()]
    control.run_now([callback_of(job).id])
    run_worker()
    waits.append(callback_of(job).due_ms - inspect.now_ms())
    assert 20_000 < waits[0] <= 36_000 < waits[1] <= 72_000


def test_a_target_that_is_gone_leaves_a_dead_callback_which_an_operator_sends_again(
    target: LocalServer, handler: Register
) -> None:
    handler(lambda job: None)
    job = jobs.submit(aggregation="a", handler="work", callback_url=target.url("/gone"))
    assert run_worker() == 2
    row = callback_of(job)
    assert (row.state, [dead.id for dead in inspect.callbacks("dead").rows]) == ("failed", [row.id])
    target.routes["/gone"] = target.routes["/ok"]
    (answer,) = control.redeliver_callbacks([row.id])
    assert (answer.word, run_worker(), callback_of(job).state) == ("OK", 1, "succeeded")
    assert target.asked[0].body == target.asked[1].body
    assert inspect.callbacks("dead").rows == ()


def test_a_retry_of_the_job_makes_another_callback_and_a_retry_of_the_callback_no_job(
    target: LocalServer, handler: Register
) -> None:
    seen: list[str] = []
    handler(lambda job: seen.append(job.id))
    job = jobs.submit(aggregation="a", handler="work", callback_url=target.url("/ok"))
    run_worker()
    first = callback_of(job)
    control.redeliver_callbacks([first.id])
    run_worker()
    assert (len(seen), len(target.asked)) == (1, 2)
    control.retry([job.id])
    run_worker()
    assert (len(seen), len(target.asked)) == (2, 3)
    assert callback_of(job).id != first.id


def test_no_more_callbacks_than_the_limit_go_to_one_host_at_once(desk: Desk, target: LocalServer) -> None:
    given: Any = {"aggregation": "a", "handler": "work", "callback_url": target.url("/ok"), "limit": 50}
    jobs.submit_many([given] * 20)
    for lease in desk.claim(20):
        desk.settle(lease, Outcome.SUCCESS)
    assert len(desk.claim(20)) == 8
    (host,) = inspect.destinations().rows
    assert (host.id, host.limit, host.in_flight, host.ready) == (f"127.0.0.1:{target.port}", 8, 8, 12)
    desk.check()


def test_an_address_that_is_not_public_is_refused_with_the_reason(
    target: LocalServer, handler: Register, settings: Any
) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": {"PORTS": None}}
    handler(lambda job: None)
    job = jobs.submit(aggregation="a", handler="work", callback_url=target.url("/ok"))
    run_worker()
    row = callback_of(job)
    assert (row.state, target.asked) == ("failed", [])
    assert "127.0.0.1 is loopback" in row.answer


def test_discarded_callbacks_are_sent_no_more(target: LocalServer, handler: Register) -> None:
    handler(lambda job: None)
    given: Any = {"aggregation": "a", "handler": "work"}
    dead, waiting = jobs.submit_many([given | {"callback_url": target.url(path)} for path in ("/gone", "/busy")])
    run_worker()
    ids = [callback_of(dead).id, callback_of(waiting).id]
    assert [row.word for row in control.discard_callbacks([*ids, dead.id])] == ["OK", "OK", "REFUSED"]
    assert inspect.callbacks().total == 1
    assert callback_of(waiting).state == "cancelled"
    assert (run_worker(), inspect.task(dead.id).state) == (0, "succeeded")


def test_a_callback_is_redirected_with_the_same_body_and_id(target: LocalServer, handler: Register) -> None:
    handler(lambda job: {"n": 1})
    given: Any = {"aggregation": "a", "handler": "work"}
    made = jobs.submit_many([given | {"callback_url": target.url(path)} for path in ("/gone", "/busy")])
    run_worker()
    sent = {asked.headers["webhook-id"]: asked.body for asked in target.asked}
    with serving({"/new": lambda exchange: exchange.answer(204)}) as other:
        ids = [callback_of(job).id for job in made]
        answers = control.redirect_callbacks([*ids, made[0].id, "unknown"], other.url("/new"))
        assert [row.word for row in answers] == ["OK", "OK", "REFUSED", "GONE"]
        assert run_worker() == 2
        assert {asked.headers["webhook-id"]: asked.body for asked in other.asked} == sent
        assert {row.lane for row in inspect.callbacks("delivered").rows} == {f"to:127.0.0.1:{other.port}"}
        limits = {row.id: row.limit for row in inspect.destinations().rows}
        assert limits[f"127.0.0.1:{other.port}"] == 8


def dead_callbacks(target: LocalServer, handler: Register, count: int) -> list[str]:
    """Callbacks that have failed for good, the oldest first."""
    handler(lambda job: None)
    made = jobs.submit_many([{"aggregation": "a", "handler": "work", "callback_url": target.url("/gone")}] * count)
    run_worker()
    return [callback_of(job).id for job in made]


def due_times(ids: list[str]) -> list[float]:
    """Seconds from the action until callbacks start, in their order; 0 for those that are ready."""
    found = [inspect.task(id) for id in ids]
    assert all(row is not None for row in found)
    return [round((row.due_ms - row.entered_ms) / 1000) if row.state == "postponed" else 0 for row in found]


def test_callbacks_are_sent_again_at_a_rate(target: LocalServer, handler: Register) -> None:
    ids = dead_callbacks(target, handler, 5)
    rows = control.redeliver_callbacks(ids, rate=0.1)
    assert [row.word for row in rows] == ["OK"] * 5
    assert [row.state for row in rows] == ["pending"] + ["postponed"] * 4
    assert due_times(ids) == [0, 10, 20, 30, 40]
    assert {row.id for row in inspect.callbacks("scheduled").rows} == set(ids[1:])
    before = len(target.asked)
    run_worker()
    assert len(target.asked) == before + 1
    assert control.redeliver_callbacks(ids[:3], rate=0.01, delay=100)[1].state == "postponed"
    assert due_times(ids) == [100, 200, 300, 30, 40]
    assert [row.state for row in control.redeliver_callbacks(ids[3:])] == ["pending"] * 2
    Desk(get_broker()).check()


def test_a_repeated_action_of_one_token_changes_nothing_more(target: LocalServer, handler: Register) -> None:
    ids = dead_callbacks(target, handler, 2)
    for _ in range(2):
        rows = control.redeliver_callbacks(ids, rate=0.1, token="one")
        assert [(row.word, row.state) for row in rows] == [("OK", "pending"), ("OK", "postponed")]
    assert control.redirect_callbacks(ids[:1], target.url("/ok"), token="other")[0].word == "OK"
    run_worker()
    assert inspect.task(ids[0]).state == "succeeded"


@pytest.mark.parametrize(("rate", "delay"), [(0, 0), (-1, 0), ("2", 0), (float("nan"), 0), (1, -1), (1, float("inf"))])
def test_a_wrong_rate_is_refused(target: LocalServer, handler: Register, rate: Any, delay: Any) -> None:
    ids = dead_callbacks(target, handler, 1)
    with pytest.raises(BadOption):
        control.redeliver_callbacks(ids, rate=rate, delay=delay)
    assert inspect.task(ids[0]).state == "failed"


def test_many_callbacks_are_redirected_in_few_calls(
    target: LocalServer, handler: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = dead_callbacks(target, handler, 40)
    control.redeliver_callbacks(ids[:1])
    calls: list[str] = []
    call = StoreClient._call
    monkeypatch.setattr(StoreClient, "_call", lambda self, name, *rest: calls.append(name) or call(self, name, *rest))
    rows = control.redirect_callbacks(ids, target.url("/ok"), rate=0.1)
    assert [row.word for row in rows] == ["OK"] * 40
    assert len(calls) <= 3
    assert due_times(ids)[-1] == 390
    run_worker()
    assert inspect.task(ids[0]).state == "succeeded"
    Desk(get_broker()).check()


def test_a_test_callback_is_sent_once(target: LocalServer) -> None:
    control.send_test_callback(target.url("/ok"))
    control.send_test_callback(target.url("/busy"))
    run_worker()
    assert [json.loads(asked.body)["job_id"] for asked in target.asked] == ["test", "test"]
    assert sorted(row.state for row in inspect.callbacks().rows) == ["failed", "succeeded"]


@pytest.mark.parametrize("url", ["http://127.0.0.1:80/", "http://localhost:80/", "http://2130706433/", "http://a:1/"])
def test_an_operator_sends_no_callback_to_an_address_that_is_not_public(
    target: LocalServer, settings: Any, url: str
) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": {}}
    job = jobs.submit(aggregation="a", handler="work", callback_url="https://shop.example/")
    for call in (control.send_test_callback, lambda url: control.redirect_callbacks([job.id], url)):
        with pytest.raises(AddressRefused):
            call(url)
    with pytest.raises(BadOption):
        control.send_test_callback("")


def test_an_action_on_callbacks_refuses_a_job_and_an_unknown_id(target: LocalServer, handler: Register) -> None:
    job = jobs.submit(aggregation="a", handler="work")
    rows = control.redeliver_callbacks([job.id, "unknown"])
    assert [(row.word, row.detail) for row in rows] == [
        ("REFUSED", "it is not a callback"),
        ("GONE", "there is no task of this id"),
    ]


def test_the_body_is_shown_with_its_secrets_masked(target: LocalServer, handler: Register) -> None:
    handler(lambda job: {"password": "hunter2"})
    job = jobs.submit(aggregation="a", handler="work", callback_url=target.url("/busy"))
    run_worker()
    shown = inspect.callback_body(callback_of(job).id)
    assert "hunter2" not in shown
    assert json.loads(shown)["job_id"] == job.id
    assert inspect.callback_body("unknown") == ""


@for_each("wrong", ["ftp://a.example/", "https:///x", "https://a.example/\r\nx", "/x", 7, "http://a:0/"])
@for_each("name", ["callback_url", "callback_error_url"])
def test_a_wrong_url_is_refused_at_the_push(namespace: str, name: str, wrong: Any) -> None:
    with pytest.raises(BadOption, match=name):
        jobs.submit(aggregation="a", handler="work", **{name: wrong})


def test_a_job_without_targets_has_no_callbacks() -> None:
    assert encode_callbacks(Push(id="a", name="work"), {"url": "", "extra": ""}, Targets()) == ""
