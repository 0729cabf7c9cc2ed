"""Runs in a terminal: `manage.py queue runs`, `run` and `start-run`, on a real store."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from console.models import AuditEntry
from queueops import control, inspect
from queueops.kinds.workflows.handle import WorkflowHandle
from queueops.model.states import State
from queueops.testing import run_worker
from tests.workflows.test_blocked import behaviour, changes, forgets
from tests.workflows.test_reset import order
from tests.workflows.test_run_filter import packed
from tests.workflows.test_runs import add, approval, cleaner, raises

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("namespace")]
Run = WorkflowHandle[Any]


def queue(*words: object) -> str:
    """What `manage.py queue` prints."""
    out = io.StringIO()
    call_command("queue", *map(str, words), stdout=out)
    return out.getvalue()


def asked(*words: object) -> Any:
    """The answer in JSON."""
    return json.loads(queue(*words, "--json"))


@pytest.fixture
def run() -> Run:
    """A run that waits for a signal."""
    handle = approval.using(id="order/7").start(60.0)
    run_worker()
    return handle


def test_runs_are_listed_by_state_name_and_instance(run: Run) -> None:
    failed = raises.start()
    run_worker()
    assert {row["id"] for row in asked("runs")["rows"]} == {run.id, failed.id}
    assert [row["id"] for row in asked("runs", "--state", "failed")["rows"]] == [failed.id]
    assert [row["id"] for row in asked("runs", "--name", "wf.approval")["rows"]] == [run.id]
    (row,) = asked("runs", "--search", "order/7")["rows"]
    assert (row["id"], row["instance"], row["waits_for"][0]) == (run.id, "order/7", "signal approve")
    assert [row["id"] for row in asked("runs", "--search", failed.id[:12])["rows"]][-1:] == [failed.id]
    shown = queue("runs")
    assert "order/7" in shown
    assert "signal approve" in shown


def test_a_failed_run_shows_the_error_of_its_own_code() -> None:
    failed = raises.start()
    run_worker()
    shown = queue("run", failed.id)
    assert "ValueError: no such order" in shown
    assert "raise ValueError" in shown


def test_pages_of_runs_go_on_where_the_last_one_ended() -> None:
    wanted = {approval.start(60.0).id for _ in range(5)}
    seen, after = set(), ""
    for _ in range(3):
        page = asked("runs", "--limit", 2, *(("--after", after) if after else ()))
        seen |= {row["id"] for row in page["rows"]}
        after = page["next"]
    assert seen == wanted


def test_the_story_of_a_run_is_shown_by_its_instance(run: Run) -> None:
    shown = queue("run", "order/7")
    assert "test_runs.py" in shown
    assert "entries 1 to 2 of 2" in shown
    found = asked("run", run.id)
    assert [line["kind"] for line in found["run"]["lines"]] == ["step", "timer"]
    assert found["task"]["name"] == "wf.approval"
    assert "no entry from 3 on; the history has 2" in queue("run", run.id, "--first", 99)
    assert "entries up to 2 of 2 were read" in queue("run", run.id, "children", "--first", 99)


def test_a_signal_with_a_value_is_sent_and_recorded(run: Run) -> None:
    (row,) = asked("run", "order/7", "signal", "--signal", "approve", "--value", '"Ada"')
    assert row["word"] == "OK"
    run_worker()
    assert run.result(timeout=0) == "Ada"
    assert AuditEntry.objects.get().verb == "signal_runs"


def test_a_run_is_suspended_resumed_and_cancelled() -> None:
    run = cleaner.start()
    run_worker()
    queue("run", run.id, "suspend")
    assert "suspended" in queue("runs")
    queue("run", run.id, "resume")
    queue("run", run.id, "cancel", "--yes")
    run_worker()
    assert run.result(timeout=0) == "cleaned 3"
    with pytest.raises(SystemExit):
        queue("run", run.id, "suspend")


def test_the_log_of_a_run_and_the_audit_log_keep_the_reason() -> None:
    run, failed = cleaner.start(), raises.start()
    run_worker()
    queue("run", run.id, "suspend", "--reason", "the price is wrong")
    queue("run", run.id, "resume", "--reason", "the price is right")
    queue("run", failed.id, "retry-step", "--reason", "the shop is open")
    task = inspect.task(run.id)
    assert task is not None
    assert ["the price is wrong" in task.log[-2].text, "the price is right" in task.log[-1].text] == [True, True]
    again = inspect.task(failed.id)
    assert again is not None
    assert "retry (the shop is open), it was failed" in again.log[-1].text
    reasons = ["the price is wrong", "the price is right", "the shop is open"]
    assert list(AuditEntry.objects.order_by("pk").values_list("reason", flat=True)) == reasons


@pytest.mark.parametrize("verb", ["show", "children", "signal"])
def test_a_verb_that_keeps_no_reason_refuses_it(run: Run, verb: str) -> None:
    named = ("--signal", "approve") if verb == "signal" else ()
    with pytest.raises(CommandError, match="suspend and resume take --reason") as refused:
        queue("run", run.id, verb, *named, "--reason", "why not")
    assert refused.value.returncode == 2


def test_a_run_is_terminated_with_a_reason(run: Run) -> None:
    queue("run", run.id, "terminate", "--reason", "wrong order", "--yes")
    assert run.state == State.CANCELLED
    assert "wrong order" in queue("run", run.id)


def test_a_run_is_reset_to_an_entry() -> None:
    run = order.using(id="o").start("7")
    run_worker()
    (row,) = asked("run", "o", "reset", "--entry", 1, "--reason", "again", "--yes")
    assert row["detail"] != run.id
    assert (run.state, order.handle("o").id) == (State.CANCELLED, row["detail"])
    assert AuditEntry.objects.get().verb == "reset_runs"
    with pytest.raises(SystemExit):
        queue("run", run.id, "reset", "--entry", 1, "--yes")


def test_a_failed_step_is_made_again() -> None:
    run = raises.start()
    run_worker()
    queue("run", run.id, "retry-step")
    assert run.state == State.PENDING


def test_only_a_failed_run_has_a_step_to_retry() -> None:
    run = cleaner.start()
    run_worker()
    run.cancel()
    run_worker()
    history = run.history()
    told = io.StringIO()
    with pytest.raises(SystemExit):
        call_command("queue", "run", run.id, "retry-step", stdout=told)
    assert "only a failed run has a step to retry; it is succeeded" in told.getvalue()
    assert (run.state, run.history()) == (State.SUCCEEDED, history)
    task, gone = add.push(1, 1), "no-such"
    assert [row.word for row in control.retry_runs([task.id, gone, run.id])] == ["GONE", "GONE", "REFUSED"]


def test_a_run_is_started_by_name() -> None:
    answer = asked("start-run", "wf.approval", "--instance", "new", "--args", "[60.0]")
    assert answer["detail"] == "new"
    assert approval.handle("new").id == answer["id"]
    assert AuditEntry.objects.get().verb == "start_run"
    with pytest.raises(CommandError, match="did you mean"):
        queue("start-run", "wf.aproval")
    with pytest.raises(CommandError, match="has a run that has not ended"):
        queue("start-run", "wf.approval", "--instance", "new", "--args", "[60.0]")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run", "no-such"), "There is no run or instance"),
        (("run", "order/7", "signal"), "Which signal"),
        (("run", "order/7", "suspend", "--signal", "x"), "Only signal"),
        (("run", "order/7", "reset", "--yes"), "To which entry"),
        (("run", "order/7", "cancel", "--entry", "1", "--yes"), "Only reset"),
    ],
)
def test_a_wrong_command_is_answered_with_advice(run: Run, words: tuple[str, ...], told: str) -> None:
    with pytest.raises(CommandError, match=told):
        queue(*words)
    assert run.state == State.IDLE


def test_a_list_tells_why_a_run_is_blocked_or_failed(run: Run) -> None:
    failed = raises.start()
    behaviour["code"] = forgets
    changes.start()
    run_worker()
    behaviour.clear()
    assert "waits for something that nothing will end" in queue("runs", "--state", "blocked")
    assert "ValueError: no such order" in queue("runs", "--state", "failed")
    assert failed.state == State.FAILED


def test_documents_are_shown_on_one_line(namespace: str) -> None:
    packed.using(id="order-1").start({"step": "open", "of": [1, 2]})
    run_worker()
    for shown in (queue("runs"), queue("run", "order-1")):
        assert '{ "step": "open", "of": [ 1, 2 ] }' in shown
        assert "\\n" not in shown


def test_a_terminated_run_waits_for_nothing(run: Run) -> None:
    run.terminate("enough")
    assert "test_runs.py" not in queue("runs")
    assert "waits" not in queue("run", "order/7")
    assert asked("runs")["rows"][0]["waits_for"] == []
