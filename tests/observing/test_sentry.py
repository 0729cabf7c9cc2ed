"""Sentry, with its own SDK that sends to a server of this machine: events, performance and check-ins."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sentry_sdk
from sentry_sdk.integrations.logging import EventHandler
from sentry_sdk.scope import Scope

from queueops import jobs, signals, task
from queueops.contrib.sentry.observer import Sentry
from queueops.model import observers
from queueops.redis.broker import get_broker
from queueops.tasks import registry
from queueops.testing import run_worker
from tests.jobs.conftest import LOCAL
from tests.jobs.servers import serving
from tests.observing import tasks
from tests.observing.receiver import Receiver, receiving

SIGNALS = (signals.task_failed, signals.task_retried, signals.task_cancelled)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture(autouse=True)
def sentry(receiver: Receiver, namespace: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The client of a project, and the observer. All of it is undone."""
    globals_ = Scope.get_global_scope()
    sentry_sdk.init(
        receiver.dsn,
        traces_sample_rate=1.0,
        default_integrations=False,
        auto_enabling_integrations=False,
        enable_backpressure_handling=False,  # its thread ends only seconds later
        auto_session_tracking=False,
    )
    monkeypatch.setattr(observers, "registered", [Sentry()])
    yield
    receiver.slow.set()
    sentry_sdk.get_client().close(timeout=10)
    globals_.set_client(None)
    globals_._event_processors.clear()
    for signal in SIGNALS:
        assert signal.disconnect(dispatch_uid="queueops.contrib.sentry")


@pytest.fixture
def sent(receiver: Receiver) -> Callable[[str], list[dict[str, Any]]]:
    """The items of a type that have come, when all that waits is sent."""

    def items(kind: str) -> list[dict[str, Any]]:
        sentry_sdk.flush(timeout=60)
        return receiver.items(kind)

    return items


def by_name(found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {each["transaction"]: each for each in found}


def test_a_failed_task_is_one_event_with_its_facts_and_without_secrets(sent: Any) -> None:
    handle = tasks.fails.using(lane="mail").push("ada", "hunter2")
    tasks.afails.push("ada", passphrase="hunter2")
    tasks.unfit.push()
    tasks.recovers.push()
    tasks.stops.push()
    tasks.restarts.push()
    run_worker()
    events = by_name(sent("event"))
    assert len(sent("event")) == 3
    assert set(events) == {"observed.fails", "observed.afails", "observed.unfit"}
    event = events["observed.fails"]
    assert event["contexts"]["queueops"] == {
        "id": handle.id,
        "name": "observed.fails",
        "kind": "task",
        "attempt": 2,
        "attempts": 2,
        "pool": "default",
        "lane": "mail",
        "root": handle.id,
        "arguments": '[["ada","[redacted]"],{}]',
    }
    assert event["tags"] == {"queueops.task": handle.id, "queueops.name": "observed.fails", "queueops.pool": "default"}
    (error,) = event["exception"]["values"]
    assert (error["type"], error["value"]) == ("Observed", "no such user; passphrase=[redacted]")
    assert error["mechanism"] == {"type": "queueops", "handled": False}
    frame = error["stacktrace"]["frames"][-1]
    assert (frame["function"], frame["vars"]) == ("fails", {"user": "'ada'", "passphrase": "[redacted]"})
    assert "hunter2" not in json.dumps(sent("event")) + json.dumps(sent("transaction"))


def test_an_expected_error_is_no_event_and_a_logged_error_hides_its_secrets(sent: Any) -> None:
    tasks.expects.push()
    tasks.tells.push("hunter2")
    handler = EventHandler()
    tasks.logger.addHandler(handler)
    try:
        run_worker()
    finally:
        tasks.logger.removeHandler(handler)
    (event,) = sent("event")
    assert event["contexts"]["queueops"]["name"] == "observed.tells"
    assert event["logentry"]["formatted"] == "no answer; passphrase=[redacted]"
    assert event["extra"]["note"] == "passphrase=[redacted]"
    assert "hunter2" not in json.dumps(event)
    statuses = {each["transaction"]: each["contexts"]["trace"]["status"] for each in sent("transaction")}
    assert statuses["observed.expects"] == "ok", "the rate of failures does not count it"


def test_a_task_is_in_the_trace_of_its_request_and_fills_the_page_of_queues(sent: Any) -> None:
    with sentry_sdk.start_transaction(op="http.server", name="/buy") as request:
        handles = [tasks.add.push(1, 2), tasks.aadd.push(3)]
        trace = request.trace_id
    failed = tasks.fails.push("ada", "x")
    run_worker()
    found = by_name(sent("transaction"))
    published = [span for span in found["/buy"]["spans"] if span["op"] == "queue.publish"]
    for handle, name, span in zip(handles, ("observed.add", "observed.aadd"), published, strict=True):
        whole = found[name]["contexts"]["trace"]
        assert (whole["op"], whole["trace_id"], whole["status"]) == ("queue.task.queueops", trace, "ok")
        assert whole["parent_span_id"] == span["span_id"]
        (process,) = (each for each in found[name]["spans"] if each["op"] == "queue.process")
        assert process["parent_span_id"] == whole["span_id"]
        for each in (span["data"], process["data"]):
            assert each["messaging.message.id"] == handle.id
            assert each["messaging.destination.name"] == "default"
            assert each["messaging.message.body.size"] > 0
        assert process["data"]["messaging.message.receive.latency"] >= 0
        assert process["data"]["messaging.message.retry.count"] == 0
    assert found["observed.fails"]["contexts"]["trace"]["status"] == "internal_error"
    (event,) = sent("event")
    record = get_broker().record("default", failed.id)
    assert record is not None
    assert event["contexts"]["trace"]["trace_id"] == record.trace.split("-")[1]
    spans = {found["observed.fails"]["spans"][0]["span_id"], event["contexts"]["trace"]["span_id"]}
    attempts = [each for each in sent("transaction") if each["transaction"] == "observed.fails"]
    assert [each["spans"][0]["data"]["messaging.message.retry.count"] for each in attempts] == [0, 1]
    assert len(spans) == 1
    assert "sentry-trace: " in record.trace


def test_a_retried_attempt_is_an_event_where_the_setting_says_so(sent: Any, settings: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"SENTRY": {"retries": True, "arguments": False}}
    tasks.recovers.push()
    tasks.fails.push("ada", "x")
    run_worker()
    facts = [event["contexts"]["queueops"] for event in sent("event")]
    assert sorted((fact["name"], fact["attempt"]) for fact in facts) == [
        ("observed.fails", 1),
        ("observed.fails", 2),
        ("observed.recovers", 1),
    ]
    assert not any("arguments" in fact for fact in facts)


def test_chunks_activities_and_cancelled_tasks_follow_the_same_rule(sent: Any) -> None:
    tasks.Sums.push([1, -1])
    for number in (-1, 0):
        tasks.run.start(number)
    tasks.waits.push()
    run_worker()
    facts = [(event["contexts"]["queueops"]["kind"], event["transaction"]) for event in sent("event")]
    assert sorted(facts) == [
        ("activity", "observed.step"),
        ("chunk", "observed.sums"),
        ("workflow", "observed.run"),
    ]
    assert "hunter2" not in json.dumps(sent("event"))
    statuses = {each["transaction"]: each["contexts"]["trace"]["status"] for each in sent("transaction")}
    assert statuses["observed.waits"] == "cancelled"


def test_breadcrumbs_and_tags_of_a_task_are_its_own_and_masked(sent: Any) -> None:
    with sentry_sdk.new_scope():
        sentry_sdk.add_breadcrumb(message="of the process")
        tasks.crumbs.push("hunter2")
        tasks.fails.push("ada", "x")
        run_worker()
    events = by_name(sent("event"))
    told = [crumb["message"] for crumb in events["observed.crumbs"]["breadcrumbs"]["values"]]
    assert told == ["token=[redacted]"]
    assert events["observed.crumbs"]["tags"]["shop"] == "7"
    assert events["observed.fails"].get("breadcrumbs", {}).get("values", []) == []
    assert "shop" not in events["observed.fails"]["tags"]


def test_a_run_of_a_schedule_is_one_check_in(sent: Any, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_handlers", "_places"):  # other tests must not see its schedule
        monkeypatch.setattr(registry, name, dict(getattr(registry, name)))

    @task(name="observed.nightly", retries=0, cron="0 3 * * *", expected=LookupError)
    def nightly(error: str = "") -> None:
        if error:
            raise LookupError if error == "expected" else tasks.Observed("at night")

    for tick, fail in (("2026-01-01", ""), ("2026-01-02", "other"), ("2026-01-04", "expected")):
        nightly.using(id=f"observed.nightly@{tick}T03:00:00Z").push(fail)
    nightly.push()
    tasks.add.using(id="Weekly.sums@2026-01-03T03:00:00Z").push(1)
    run_worker()
    found: dict[str, list[str]] = {}
    by_hand = [item for item in sent("check_in") if item["monitor_slug"] == "weekly-sums"]
    assert [(item["status"], "monitor_config" in item) for item in by_hand] == [("in_progress", False), ("ok", False)]
    for item in sent("check_in"):
        if item in by_hand:
            continue
        assert item["monitor_slug"] == "observed-nightly"
        assert item["monitor_config"] == {"schedule": {"type": "crontab", "value": "0 3 * * *"}, "timezone": "UTC"}
        found.setdefault(item["check_in_id"], []).append(item["status"])
    assert sorted(found.values()) == [["in_progress", "error"], ["in_progress", "ok"], ["in_progress", "ok"]]
    settings.QUEUEOPS = settings.QUEUEOPS | {"SENTRY": {"monitors": False}}
    nightly.using(id="observed.nightly@2026-01-03T03:00:00Z").push()
    run_worker()
    assert len(sent("check_in")) == 8


def test_a_server_that_answers_nothing_holds_up_no_task(receiver: Receiver, sent: Any) -> None:
    receiver.slow.clear()
    handles = [tasks.fails.push("ada", "x") for _ in range(20)] + [tasks.add.push(1)]
    run_worker()
    assert [handle.state for handle in handles] == ["failed"] * 20 + ["succeeded"]
    receiver.slow.set()
    assert len(sent("event")) == 20


def test_without_a_client_nothing_is_made_and_a_task_runs(receiver: Receiver) -> None:
    sentry_sdk.get_client().close(timeout=10)
    Scope.get_global_scope().set_client(None)
    handle = tasks.add.push(1)
    tasks.fails.push("ada", "x")
    run_worker()
    record = get_broker().record("default", handle.id)
    assert record is not None
    assert (record.state, record.trace) == ("succeeded", "")
    assert receiver.server.asked == []


def test_a_job_and_its_callback_are_in_the_trace_of_the_request(sent: Any, settings: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": LOCAL}
    jobs.job_handler("observed.job")(lambda job: {"width": 300})
    try:
        with (
            serving({"/gone": lambda exchange: exchange.answer(410)}) as target,
            sentry_sdk.start_transaction(op="http.server", name="/submit") as request,
        ):
            jobs.submit(aggregation="a", handler="observed.job", callback_url=target.url("/gone"))
            tasks.add.using(follow_up={"success": tasks.aadd.si(1)}).push(1)
            run_worker()
    finally:
        registry.unregister("job", "observed.job")
    found = [each for each in sent("transaction") if each["contexts"]["trace"]["op"] == "queue.task.queueops"]
    kinds = sorted(each["spans"][0]["data"]["queueops.task.kind"] for each in found)
    assert kinds == ["callback", "job", "task", "task"]
    assert {each["contexts"]["trace"]["trace_id"] for each in found} == {request.trace_id}
    (event,) = sent("event")
    assert event["contexts"]["queueops"]["kind"] == "callback"
