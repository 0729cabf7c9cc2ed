"""An action on all that match that is taken back before its end: it goes on nowhere, and nothing of it is left."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from console.actions import undo
from console.models import AuditEntry, Outcome
from queueops import control
from queueops.model.contracts import Row
from queueops.redis.broker import get_broker
from tests.console.test_mass import go_on, small_steps, states, the_whole, told
from tests.kernel.desk import Desk

__all__ = ["small_steps"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("small_steps")]
IDS = [f"t{number}" for number in range(6)]


@pytest.fixture
def desk(namespace: str) -> Desk:
    desk = Desk(get_broker())
    desk.push(*IDS)
    return desk


def cancel_all(client: Client) -> AuditEntry:
    """Its first step."""
    client.post("/ops/tasks/_all_cancel?state=pending", {"confirmed": str(len(IDS)), "reason": "by mistake"})
    return the_whole()


def test_what_is_taken_back_does_not_go_on_in_another_window(desk: Desk, operator: Client) -> None:
    whole = cancel_all(operator)
    assert states(*IDS).count("cancelled") == 2
    operator.post(f"/ops/audit/{whole.pk}/_undo")
    go_on(operator)
    assert "Undo: Cancel: 2 tasks." in told(operator.get("/ops/audit/"))
    assert states(*IDS) == ["pending"] * 6
    answer = operator.post(f"/ops/audit/{whole.pk}/_go_on", follow=True)
    assert states(*IDS) == ["pending"] * 6
    assert "it was undone before its end" in told(answer)
    assert "Continue" not in told(answer)
    desk.check()


def test_before_it_has_changed_anything_too(desk: Desk, operator: Client) -> None:
    whole = cancel_all(operator)
    whole.parts.all().delete()
    AuditEntry.objects.filter(pk=whole.pk).update(seen=0, changed=0)
    answer = operator.post(f"/ops/audit/{whole.pk}/_undo", follow=True)
    assert "There is nothing left to undo." in answer.content.decode()
    operator.post(f"/ops/audit/{whole.pk}/_go_on")
    assert states(*IDS).count("cancelled") == 2


def test_a_step_that_somebody_is_doing_meanwhile_is_taken_back_with_the_others(
    desk: Desk, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = cancel_all(operator)
    done = control.cancel

    def overtaken(ids: list[str], *values: str, **named: str) -> list[Row]:
        """In the middle of the step another user undoes it."""
        monkeypatch.setattr(control, "cancel", done)
        first = done(ids[:1], *values, **named)
        page = operator.post(f"/ops/audit/{whole.pk}/_undo", follow=True).content.decode()
        assert "data-go-on" in page  # it waits for the step
        return first + done(ids[1:], *values, **named)

    monkeypatch.setattr(control, "cancel", overtaken)
    operator.post(f"/ops/audit/{whole.pk}/_go_on")
    assert states(*IDS).count("cancelled") == 2
    undoing = AuditEntry.objects.get(undoes=whole)
    operator.post(f"/ops/audit/{undoing.pk}/_go_on")
    operator.post(f"/ops/audit/{undoing.pk}/_go_on")
    assert states(*IDS) == ["pending"] * 6
    undoing.refresh_from_db()
    whole.refresh_from_db()
    assert (undoing.changed, undoing.outcome, undoing.goes_on) == (4, Outcome.DONE, False)
    assert (whole.changed, whole.outcome, whole.goes_on) == (4, Outcome.DONE, False)
    desk.check()


def test_a_step_whose_process_died_is_found_out_about_after_a_while(
    desk: Desk, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = cancel_all(operator)
    whole.parts.update(outcome=Outcome.BEGUN, changed=0, after={})
    operator.post(f"/ops/audit/{whole.pk}/_undo")
    undoing = AuditEntry.objects.get(undoes=whole)
    assert undoing.goes_on
    assert states(*IDS).count("cancelled") == 2
    monkeypatch.setattr(undo, "LONGEST", timedelta(0))
    go_on(operator, 2)
    assert states(*IDS) == ["pending"] * 6
    undoing.refresh_from_db()
    assert (undoing.changed, undoing.outcome, undoing.goes_on) == (2, Outcome.DONE, False)


def test_only_what_has_a_way_back_is_stopped_by_an_undo(desk: Desk, operator: Client) -> None:
    cancel_all(operator)
    go_on(operator, 3)
    operator.post("/ops/tasks/_all_retry?state=cancelled", {"confirmed": "6"})
    retrying = the_whole()
    operator.post(f"/ops/audit/{retrying.pk}/_undo")
    assert the_whole() == retrying
    assert the_whole().goes_on
    go_on(operator, 3)
    assert states(*IDS) == ["pending"] * 6
