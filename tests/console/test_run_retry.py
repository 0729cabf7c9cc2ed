"""Retry of the failed step of a run from its page: the question, and where its reason is kept."""

from __future__ import annotations

from django.test import Client

from console.models import AuditEntry
from queueops import inspect
from queueops.model.states import State
from queueops.testing import run_worker
from tests.console.test_workflows import act, page
from tests.workflows.test_runs import raises


def test_the_failed_step_is_retried_after_a_question(namespace: str, operator: Client) -> None:
    failed = raises.start()
    run_worker()
    assert f"/ops/workflows/{failed.id}/_retry" in page(operator, failed)
    asked = operator.post(f"/ops/workflows/{failed.id}/_retry", {"pool": "default"})
    assert "Makes the last step again." in asked.content.decode()
    assert 'name="reason"' in asked.content.decode()
    assert failed.state == State.FAILED
    assert act(operator, failed, "retry", confirmed="1", reason="the shop is open") == 302
    assert failed.state == State.PENDING
    entry = AuditEntry.objects.get(verb="retry")
    assert (entry.outcome, entry.reason) == ("done", "the shop is open")
    task = inspect.task(failed.id)
    assert task is not None
    assert "retry (the shop is open)" in task.log[-1].text
    run_worker()
    assert failed.state == State.FAILED
