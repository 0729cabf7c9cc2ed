"""Alarms of blocked runs: the status head names them with the difference that was found and the remedy."""

from __future__ import annotations

import pytest

from queueops import control, inspect
from queueops.inspect import Alarm
from queueops.kinds.workflows.alarms import alarms
from queueops.kinds.workflows.handle import WorkflowHandle
from queueops.kinds.workflows.steps import kept_runs
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.model.contracts import Outcome
from queueops.model.states import State
from queueops.redis.broker import get_broker, get_role
from queueops.testing import run_worker
from tests.kernel.desk import Desk
from tests.workflows.test_blocked import behaviour, calls_other_first, changes, waits_then_flaky

pytestmark = pytest.mark.usefixtures("namespace")


def blocked() -> WorkflowHandle[str]:
    """A run whose code has changed."""
    behaviour["code"] = waits_then_flaky
    run = changes.using(id="order/7").start()
    run_worker()
    kept_runs.clear()
    behaviour["code"] = calls_other_first
    run.signal("go")
    run_worker()
    assert run.state == State.POSTPONED
    return run


def shown() -> list[Alarm]:
    """The alarms about runs."""
    return [alarm for alarm in inspect.snapshot().alarms if "blocked" in alarm.text]


def index() -> list[bytes]:
    """The index of blocked runs."""
    store = get_role(WorkflowCalls)
    return list(store.ask("default", lambda client: client.zrange(store.keys("default").blocked, 0, -1)))


def test_a_blocked_run_is_an_alarm_until_its_step_is_made() -> None:
    run = blocked()
    (alarm,) = shown()
    assert alarm.text.startswith("The run order/7 of wf.changes has been blocked for ")
    assert "Recorded: nothing more. Done now: call number 1 wf.other" in alarm.text
    assert alarm.command == f"manage.py queue run-now {run.id} --pool default"
    assert " and needs a deploy: " in alarm.text, "to run it now before makes the same step with the same code"
    behaviour["code"] = waits_then_flaky
    run.run_now()
    run_worker()
    assert run.result(timeout=0) == "fine"
    assert shown() == []
    assert index() == []


def test_a_blocked_run_that_is_terminated_or_reset_is_no_alarm() -> None:
    blocked().terminate("given up")
    assert (shown(), index()) == ([], [])
    run = blocked()
    run.reset(1)
    assert (shown(), index()) == ([], [])


def test_a_blocked_run_that_begins_again_from_its_start_is_no_alarm() -> None:
    """A worker was lost with its step, so that it waits in back-off."""
    run, desk = blocked(), Desk(get_broker())
    run.run_now()
    desk.lease()
    desk.make_due(run.id)
    desk.tick()
    assert (run.state, len(index())) == (State.RESTART, 1)
    assert control.retry([run.id], everything=True)[0].word == "OK"
    assert (shown(), index()) == ([], [])


def test_the_message_of_an_exception_is_not_in_an_alarm() -> None:
    row = {"id": "r", "name": "wf.x", "instance": "i", "since": 1000, "times": 1, "reason": "ValueError: password 7"}
    found = list(alarms("default", {"taken": 2000, "blocked_runs": {"count": 3, "rows": [row]}}))
    assert [alarm.text for alarm in found] == [
        "The run i of wf.x has been blocked for 1 s and needs a deploy: a step raised ValueError.",
        "Pool default: 2 more runs are blocked.",
    ]
    assert [alarm.url_hint for alarm in found] == ["why?id=r&pool=default", "workflows?state=blocked"]
    assert found[-1].command == "manage.py queue runs --state blocked"


def test_a_run_without_fitting_code_needs_a_deploy_before_run_now() -> None:
    run = blocked()
    found = next(finding for finding in inspect.why(run.id) if not finding.ok)
    assert "Deploy code that fits its history first, then run it now." in found.text
    assert "makes the same step with the same code, and fails again" in found.text
    assert found.verb == "run_now"


def test_a_run_of_an_unknown_name_needs_a_deploy_before_run_now() -> None:
    run, desk = changes.start(), Desk(get_broker())
    desk.settle(desk.lease(), Outcome.UNKNOWN, b"no task of this worker has this name", delay_ms=60_000)
    found = next(finding for finding in inspect.why(run.id) if not finding.ok)
    assert "Deploy code that fits its history first, then run it now." in found.text
    assert found.value == "no task of this worker has this name"
