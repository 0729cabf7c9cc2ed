"""The page of a run: its story, what it waits for, and the actions, with the real engine underneath."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client

from console.models import AuditEntry
from queueops.kinds.workflows.handle import WorkflowHandle
from queueops.model.states import State
from queueops.testing import run_worker
from tests.workflows.test_runs import approval, parent, raises

Handle = WorkflowHandle[str]


@pytest.fixture
def run(namespace: str) -> Handle:
    """A run that waits for a signal, with a time limit."""
    handle = approval.using(id="order/7").start(60.0)
    run_worker()
    return handle


def page(client: Client, run: Handle, query: str = "") -> str:
    """The tab of a run."""
    reply = client.get(f"/ops/tasks/{run.id}/run/{query}")
    assert reply.status_code == 200
    return html.unescape(reply.content.decode())


def act(client: Client, run: Handle, verb: str, **fields: str) -> int:
    """Press a button of the page."""
    return client.post(f"/ops/workflows/{run.id}/_{verb}", {"pool": "default", **fields}).status_code


def test_the_story_is_shown_with_what_the_run_waits_for(run: Handle, operator: Client) -> None:
    shown = page(operator, run)
    assert "order/7" in shown
    assert "signal approve" in shown
    assert re.search(r"test_runs\.py:\d+ in approval", shown)
    assert re.findall(r'<span class="q-tag">(\w+)</span>', shown) == ["step", "timer"]
    assert "timer" in shown[shown.index("Waits for") :]


def test_a_signal_is_sent_with_its_value_and_is_audited(run: Handle, operator: Client) -> None:
    assert act(operator, run, "signal", name="approve", value='"Ada"') == 302
    run_worker()
    assert run.result(timeout=0) == "Ada"
    assert "approve" in page(operator, run)
    entry = AuditEntry.objects.get(verb="signal_runs")
    assert (entry.outcome, entry.actor_name) == ("done", "operators")


@pytest.mark.parametrize("fields", [{"name": ""}, {"name": "approve", "value": "{"}])
def test_a_signal_without_a_name_or_with_a_broken_value_is_refused(
    run: Handle, operator: Client, fields: dict[str, str]
) -> None:
    assert act(operator, run, "signal", **fields) == 400
    assert run.state == State.IDLE


def test_a_suspended_run_says_so_and_can_be_resumed(run: Handle, operator: Client) -> None:
    act(operator, run, "suspend")
    assert act(operator, run, "signal", name="approve", value="1") == 302
    run_worker()
    shown = page(operator, run)
    assert "Suspended" in shown
    assert "Inbox" in shown
    why = html.unescape(operator.get(f"/ops/tasks/{run.id}/why/").content.decode())
    assert "The run is suspended." in why
    act(operator, run, "resume")
    run_worker()
    assert run.result(timeout=0) == "1"


def test_a_viewer_sees_no_values_and_no_buttons(run: Handle, viewer: Client) -> None:
    run.signal("approve", "secret-name")
    run_worker()
    shown = page(viewer, run)
    assert "signal" in shown
    assert "secret-name" not in shown
    assert "_signal" not in shown
    assert act(viewer, run, "signal", name="approve") == 403
    assert act(viewer, run, "cancel") == 403


def test_a_token_is_needed(run: Handle, client_of: object) -> None:
    strict = client_of("operators", enforce_csrf_checks=True)  # type: ignore[operator]
    assert act(strict, run, "cancel") == 403
    assert run.state == State.IDLE


def test_why_names_what_a_run_waits_for(run: Handle, operator: Client) -> None:
    why = html.unescape(operator.get(f"/ops/tasks/{run.id}/why/").content.decode())
    assert "The run waits for 1 timers." in why or "The run waits for 1 timer." in why
    assert "The run waits for the signal approve." in why


def test_a_child_links_to_its_parent_and_back(namespace: str, operator: Client) -> None:
    outer = parent.start("inner-1")
    run_worker()
    child = approval.handle("inner-1")
    assert f"/ops/tasks/{child.id}/" in page(operator, outer)
    assert f"/ops/tasks/{outer.id}/" in page(operator, child)


def test_an_ended_run_offers_no_action(namespace: str, operator: Client) -> None:
    failed = raises.start()
    run_worker()
    assert "_signal" not in page(operator, failed)
    assert act(operator, failed, "cancel") == 302
    assert AuditEntry.objects.get(verb="cancel_runs").outcome == "refused"
