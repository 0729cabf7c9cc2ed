"""Bulk actions that workers perform: what is asked, the bar on every page, pause, stop, undo and the audit log."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.test import Client
from playwright.sync_api import expect

from console.models import AuditEntry, Outcome
from console.pages import bulk as views
from queueops import control, inspect
from queueops.redis.broker import get_broker
from tests.console.browsing import browsing, serving
from tests.console.test_mass import states, the_whole, told
from tests.kernel.desk import Desk
from tests.operations.playing import claimed, part, through

pytestmark = pytest.mark.django_db
CANCEL = "/ops/tasks/_all_cancel?state=pending"
IDS = [f"t{number}" for number in range(130)]


@pytest.fixture
def desk(namespace: str, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """130 tasks wait, and more than 2 are a bulk action."""
    monkeypatch.setattr(views, "MOST", 2)
    monkeypatch.setattr("console.actions.bulk.MOST", 2)
    desk = Desk(get_broker())
    desk.push(*IDS)
    return desk


@pytest.fixture
def worker(desk: Desk) -> None:
    """A worker beats."""
    desk.broker.beat("default", "w1", {"names": "", "slots": 8, "host": "elsewhere", "pools": "default"})


def bar(client: Client) -> str:
    """The head of a page with the status and the bulk actions."""
    page = client.get("/ops/lanes/").content.decode()
    return page.split('id="status"')[1].split("</section>")[0]


def test_the_question_says_who_performs_the_action(desk: Desk, operator: Client) -> None:
    assert "No live worker serves pool default." in told(operator.post(CANCEL))
    desk.broker.beat("default", "w1", {"names": "", "slots": 8, "host": "elsewhere", "pools": "default"})
    assert "Workers perform the action in parts. You may close the page." in told(operator.post(CANCEL))


@pytest.mark.usefixtures("worker")
def test_workers_perform_the_action_and_every_page_shows_it(desk: Desk, operator: Client) -> None:
    answer = operator.post(CANCEL, {"confirmed": "130", "reason": "a mistake"}, follow=True)
    assert "0 of at most 130 checked, 0 changed" in told(answer)
    assert "This page may be closed" in told(answer)
    assert "waiting for a worker" in bar(operator)
    lease = claimed(desk)
    done = part(lease)
    assert f"{done.seen} of 130" in bar(operator)
    version = operator.get("/ops/_status?v=0").content
    part(lease)
    assert operator.get("/ops/_status?v=0").content != version
    assert through(lease).changed == 130
    desk.settle(lease)
    assert "progress" not in bar(operator)
    entry = the_whole()
    assert (entry.outcome, entry.changed, entry.seen, entry.goes_on) == (Outcome.DONE, 130, 130, False)
    record = desk.record("t3")
    assert record is not None
    assert record.reason == "a mistake"

    answer = operator.post(f"/ops/audit/{entry.pk}/_undo", follow=True)
    assert "Undo: Cancel" in told(answer)
    lease = claimed(desk)
    assert through(lease).changed == 130
    desk.settle(lease)
    assert "130 of 130 changed" in told(operator.get(f"/ops/audit/{the_whole().pk}/"))
    assert set(states(*IDS[:5])) == {"pending"}
    operator.post(f"/ops/audit/{entry.pk}/_undo")
    assert AuditEntry.objects.count() == 2
    desk.check()


@pytest.mark.usefixtures("worker")
def test_it_is_paused_resumed_and_stopped_and_the_audit_log_says_by_whom(
    desk: Desk, operator: Client, client_of: Callable[..., Client]
) -> None:
    operator.post(CANCEL, {"confirmed": "130", "reason": "a mistake"})
    entry, lease = the_whole(), claimed(desk)
    done = part(lease)
    steer = f"/ops/audit/{entry.pk}/_operation"
    operator.post(steer, {"what": "pause"})
    assert part(lease).word == "HELD"
    assert "paused" in bar(operator)
    assert "Resume" in told(operator.get(f"/ops/audit/{entry.pk}/"))
    operator.post(steer, {"what": "resume"})
    assert operator.post(steer, {"what": "explode"}).status_code == 400
    assert client_of("viewers").post(steer, {"what": "stop"}).status_code == 403
    operator.post(steer, {"what": "stop"})
    assert part(lease).word == "STOP"
    desk.settle(lease, "cancel", b"stopped by an operator")  # type: ignore[arg-type]
    operator.get("/ops/audit/")
    bar(operator)
    entry.refresh_from_db()
    assert (entry.outcome, entry.changed, entry.detail) == (Outcome.PARTLY, done.changed, "stopped by an operator")
    verbs = list(AuditEntry.objects.order_by("pk").values_list("verb", "outcome"))
    assert verbs == [
        ("cancel", "partly"),
        ("pause_operation", "done"),
        ("resume_operation", "done"),
        ("steer_operation", "denied"),
        ("stop_operation", "done"),
    ]


@pytest.mark.usefixtures("worker")
def test_while_everything_is_read_only_nothing_is_steered(desk: Desk, operator: Client, settings: object) -> None:
    operator.post(CANCEL, {"confirmed": "130", "reason": "a mistake"})
    settings.QUEUEOPS = settings.QUEUEOPS | {"READ_ONLY": True}  # type: ignore[attr-defined]
    assert operator.post(f"/ops/audit/{the_whole().pk}/_operation", {"what": "stop"}).status_code == 403
    assert "130" in bar(operator)
    assert control.MOST
    assert inspect.operations()[0].is_stopping is False


@pytest.mark.browser
@pytest.mark.usefixtures("worker")
def test_the_bar_is_live_breaks_no_rule_of_axe_and_fits_a_phone(desk: Desk, operator: Client) -> None:
    operator.post(CANCEL, {"confirmed": "130", "reason": "a mistake"})
    lease = claimed(desk)
    done = part(lease)
    with serving() as url, browsing(url) as open_page:
        page = open_page("lanes/", viewport={"width": 360, "height": 640}, color_scheme="dark")
        line = page.locator(".operation-line")
        expect(line).to_contain_text(f"{done.seen} of 130")
        assert Axe().run(page).response["violations"] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        through(lease)
        expect(line).to_contain_text("130 of 130")
        desk.settle(lease)
        expect(line).to_have_count(0)
