from __future__ import annotations

import json
from typing import Any

import pytest

from queueops import TaskHandle, control, inspect
from queueops.inspect import task_history
from queueops.model.contracts import Conflict, Outcome, Push
from tests.composites.trees import chain_of, plant
from tests.inspecting.errors import stored
from tests.kernel.desk import NEVER_MS, Desk


def found(id: str, pool: str = "") -> inspect.TaskDetail:
    detail = inspect.task(id, pool)
    assert detail is not None
    return detail


def test_a_task_is_told_in_full(desk: Desk) -> None:
    args = b'[[1],{"password":"x"}]'
    desk.push("t", name="add", args=args, priority=3, retries=2, tags=("a", "b"), timeout_ms=5000, root="r")
    lease = desk.lease()
    desk.broker.note("default", "t", lease.fence, done=2, total=5, line=b"half \xff way")
    task = found("t")
    assert (task.state, task.worker, task.fence, task.priority, task.retries) == ("locked", "w1", lease.fence, 3, 2)
    assert (task.progress, task.total, task.tags, task.timeout_ms, task.root) == (2.0, 5.0, ("a", "b"), 5000, "r")
    assert json.loads(task.args_json) == [[1], {"password": "[redacted]"}]
    assert task.deadline_ms is not None
    assert [(line.kind, line.text[:5]) for line in task.log] == [("log", "half ")]
    assert task.allowed == ("cancel", "release")
    assert [(attempt.number, attempt.kind, attempt.ended_ms) for attempt in task.attempts] == [(1, "running", None)]


def test_each_attempt_keeps_its_error(desk: Desk) -> None:
    desk.push("t", retries=1)
    desk.settle(desk.lease(), Outcome.ERROR, delay_ms=0, **stored("f1", "first\nand more"))
    desk.make_due("t")
    desk.settle(desk.lease("w2"), Outcome.ERROR, worker="w2", delay_ms=-1, **stored("f2", "second"))
    task = found("t")
    assert task.state == "failed"
    assert [(a.number, a.worker, a.error.message if a.error else "") for a in task.attempts] == [
        (1, "w1", "first\nand more"),
        (2, "w2", "second"),
    ]
    assert task.error is not None
    assert task.error.traceback == "Traceback\nValueError: second"
    assert [moment.state for moment in task.timeline] == ["", "locked", "restart", "locked", "failed"]
    assert task.timeline[-1].text == "ValueError: second"


def test_a_reason_to_wait_is_none_of_a_success(desk: Desk) -> None:
    """It stays in the record, and would stand beside the success as if it explained that."""
    for outcome in (Outcome.UNKNOWN, Outcome.CRASH):
        desk.push("t")
        desk.settle(desk.lease(), outcome, b"no worker for it", delay_ms=0)
        assert found("t").reason == "no worker for it"
        desk.control("run_now", "t")
        desk.settle(desk.lease())
        assert (found("t").state, found("t").reason) == ("succeeded", "")
        status = TaskHandle("t", "default").status()
        assert status is not None
        assert status.reason == ""


def test_a_task_that_was_retried_after_its_end_is_told_to_have_failed(desk: Desk) -> None:
    desk.push("t", retries=1)
    desk.settle(desk.lease(), Outcome.ERROR, delay_ms=0, **stored("f1", "first"))
    desk.make_due("t")
    desk.settle(desk.lease(), Outcome.ERROR, delay_ms=-1, **stored("f1", "second"))
    desk.control("retry", "t", who="ann")
    desk.settle(desk.lease())
    states = [moment.state for moment in found("t").timeline]
    assert states == ["", "locked", "restart", "locked", "failed", "pending", "locked", "succeeded"]


def test_attempts_that_ended_in_one_millisecond_are_all_told() -> None:
    lines = [{"k": "error", "t": 5, "attempt": number, "begun": 5, "error": "{}"} for number in (1, 2)]
    moments = task_history.timeline(lines, {"c": "4", "s": "failed"}, "failed", 5)
    assert [moment.state for moment in moments] == ["", "locked", "restart", "locked", "failed"]


@pytest.mark.parametrize(
    ("state", "states"),
    [
        ("locked", ["restart", "locked"]),
        ("succeeded", ["restart", "locked", "succeeded"]),
        ("cancelled", ["cancelled"]),  # its failure ended it
    ],
)
def test_a_start_in_the_millisecond_of_a_failure_is_told(state: str, states: list[str]) -> None:
    lines = [{"k": "error", "t": 5, "attempt": 1, "begun": 5, "error": "{}"}]
    record = {"c": "4", "s": state, "b": "5", "e": "5", "w": "w1"}
    moments = task_history.timeline(lines, record, state, 5)
    assert [moment.state for moment in moments] == ["", "locked", *states]
    assert len(task_history.attempts(lines, record)) == states.count("locked") + 1


@pytest.mark.parametrize("value", [[1], {"a": 1}, "x", True, None, 10**400])
def test_a_line_with_values_of_another_type_is_shown(desk: Desk, value: Any) -> None:
    desk.push("t")
    line = {"k": "error", "t": value, "begun": value, "attempt": value, "error": value, "worker": value}
    desk.client.rpush(desk.keys.task("t") + "#log", json.dumps(line))
    task = found("t")
    assert [entry.kind for entry in task.log] == ["error"]
    assert task.timeline[-1].state == "pending"
    assert len(task.attempts) == 1


def test_what_an_operator_did_is_in_the_log_without_secrets(desk: Desk) -> None:
    desk.push("t", args=b'[[],{"token":"old-secret"}]')
    desk.control("edit", "t", value='[[],{"token":"new-secret"}]', who="ann")
    desk.control("cancel", "t", value="not needed", who="bob")
    task = found("t")
    assert "ann: edit" in task.log[1].text
    assert "bob: cancel (not needed), it was pending" in task.log[2].text
    assert "secret" not in repr(task)
    assert "secret" not in repr(inspect.raw("t"))
    assert (task.timeline[-1].state, task.timeline[-1].text) == ("cancelled", "bob: cancel")


def test_the_timeline_tells_where_each_verb_led(desk: Desk) -> None:
    desk.push("t", delay_ms=NEVER_MS)
    desk.push("ready")
    plant(desk, chain_of("c", "a", "b"))
    desk.control("cancel", "t", "ready", "c")
    desk.control("reinstate", "t", "ready", "c", who="ann")
    assert [moment.state for moment in found("t").timeline] == ["", "cancelled", "postponed"]
    assert [moment.state for moment in found("ready").timeline] == ["", "cancelled", "pending"]
    assert {moment.state for moment in found("c").timeline} == {"", "cancelled", "idle"}
    assert [found(id).timeline[-1].text for id in ("t", "ready")] == ["ann: reinstate"] * 2


def test_one_that_is_asked_to_stop_is_not_told_to_be_cancelled_yet(desk: Desk) -> None:
    desk.push("t")
    lease = desk.lease()
    desk.control("cancel", "t", who="bob")
    assert {moment.state for moment in found("t").timeline} == {"", "locked"}
    desk.settle(lease, Outcome.CANCEL, b"enough")
    assert [moment.state for moment in found("t").timeline if moment.state != "locked"] == ["", "cancelled"]


def test_a_result_is_redacted_too(desk: Desk) -> None:
    desk.push("t")
    desk.settle(desk.lease(), value=b'{"api_key":"k","n":1}')
    task = found("t")
    assert json.loads(task.result_json) == {"api_key": "[redacted]", "n": 1}
    assert [(attempt.kind, attempt.number) for attempt in task.attempts] == [("succeeded", 1)]


def test_the_same_id_in_two_pools_is_two_tasks(desk: Desk) -> None:
    desk.push("t", name="here")
    desk.broker.push([Push(id="t", name="there", pool="mail")])
    assert (found("t", "default").name, found("t", "mail").name) == ("here", "there")


def test_what_is_not_there_is_none(desk: Desk) -> None:
    assert inspect.task("nobody") is None
    assert inspect.raw("nobody") == {}


def test_a_deleted_task_is_none_until_it_is_restored(desk: Desk) -> None:
    desk.push("t")
    desk.settle(desk.lease())
    desk.control("delete", "t")
    assert inspect.task("t") is None
    desk.control("restore", "t")
    assert found("t").state == "succeeded"


def test_garbage_in_a_record_and_its_log_is_shown_and_does_no_harm(desk: Desk) -> None:
    desk.push("t")
    bad = b"\xff<b>\x00"
    fields = [*"abcdefklprxy", "re", "er", "tg", "to", "zz"]
    desk.client.hset(desk.keys.task("t"), mapping=dict.fromkeys(fields, bad))
    desk.client.rpush(desk.keys.log("t"), bad, b"[1]", b'{"k":"error","error":"nope","t":"x"}')
    task = found("t")
    assert task.state == "pending"
    assert [line.kind for line in task.log] == ["unreadable", "unreadable", "error"]
    assert inspect.raw("t")["zz"] == "\\xff<b>\x00"
    desk.client.delete(desk.keys.task("t"))
    desk.client.set(desk.keys.task("t"), "no record")
    assert found("t").allowed == ()
    desk.broken.add("t")


def test_what_belongs_to_a_task_is_no_task(desk: Desk) -> None:
    desk.push("t")
    desk.control("priority", "t", value=1)
    desk.word("t", Conflict.RUN_AFTER)
    for id in ("t#log", "t#next", "", "x" * 201):
        assert inspect.task(id) is None
        assert inspect.why(id)[0].text.startswith("No task has this id")
        assert [row.word for row in control.cancel([id])] == ["GONE"]
        assert control.edit_and_retry(id, [1], {}).word == "GONE"
    assert desk.state("t") == "pending"


def test_an_action_that_does_not_name_the_state_leads_to_the_one_that_its_kind_tells() -> None:
    lines = [
        {"k": "operator", "t": 2, "from": "succeeded", "verb": "restart from process"},
        {"k": "operator", "t": 3, "from": "pending", "verb": "priority"},
    ]
    record = {"k": "mapreduce", "s": "aggregating", "c": "1"}
    assert [moment.state for moment in task_history.timeline(lines, record, "pending", 4)] == [
        *("", "aggregating", "pending", "pending"),
    ]
