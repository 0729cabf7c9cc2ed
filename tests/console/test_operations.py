"""Bulk actions that workers perform: what is asked, the bar on every page, pause, stop, undo and the audit log."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from msgspec.structs import replace
from playwright.sync_api import expect

from console.actions.operations import ENGINE
from console.audit.log import new_entry
from console.models import AuditEntry, Outcome
from console.pages import bulk as views
from queueops import control, inspect
from queueops.errors import BrokerUnavailable
from queueops.inspect import TaskQuery
from queueops.redis.broker import get_broker
from tests.composites.trees import group_of, plant
from tests.console.browsing import browsing, serving
from tests.console.test_mass import states, the_whole, told
from tests.kernel.desk import Desk
from tests.operations.playing import claimed, part, through
from tests.support.monitoring import round_trips

pytestmark = pytest.mark.django_db
CANCEL = "/ops/tasks/_all_cancel?state=pending"
IDS = [f"t{number}" for number in range(130)]


@pytest.fixture
def desk(namespace: str, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """130 tasks wait, and more than 2 are a bulk action."""
    monkeypatch.setattr(views, "MOST", 2)
    monkeypatch.setattr("console.actions.bulk.MOST", 2)
    monkeypatch.setattr("console.actions.operations.READING_AGE_S", 0.0)
    desk = Desk(get_broker())
    desk.push(*IDS)
    return desk


@pytest.fixture
def worker(desk: Desk) -> None:
    """A worker beats."""
    beat(desk)


def beat(desk: Desk, **fields: object) -> None:
    """A heartbeat of the one worker."""
    desk.broker.beat(
        "default", "w1", {"names": "", "slots": 8, "host": "elsewhere", "pools": "default", "lanes": ""} | fields
    )


def bar(client: Client) -> str:
    """The head of a page with the status and the bulk actions."""
    return bar_of(client.get("/ops/lanes/").content.decode())


def bar_of(page: str) -> str:
    """The head of this page."""
    return page.split('id="status"')[1].split("</section>")[0]


def test_the_question_says_who_performs_the_action(desk: Desk, operator: Client) -> None:
    stays = "serves the lane operations of pool default. The action goes on only while its page stays open."
    assert stays in told(operator.post(CANCEL))
    beat(desk, lanes="to:*")
    assert stays in told(operator.post(CANCEL))
    beat(desk)
    asked = told(operator.post(CANCEL))
    assert "Workers perform the action in parts. You may close the page." in asked
    assert "begins there when" not in asked


def test_the_question_says_why_the_action_would_not_begin_at_once(desk: Desk, operator: Client) -> None:
    beat(desk, busy=8)
    assert "All worker slots of pool default are busy." in told(operator.post(CANCEL))
    desk.broker.lane("default", "operations", paused=1)
    assert "The lane operations of pool default is paused. The action begins there when it is resumed." in told(
        operator.post(CANCEL)
    )
    desk.broker.lane("default", "operations", paused=None, limit=1)
    desk.push("op", lane="operations")
    desk.claim(500)
    assert [wait.reason for wait in inspect.operation_waits(TaskQuery(state="locked"))] in (["limit"], [])


def test_the_question_says_what_the_action_meets(desk: Desk, operator: Client) -> None:
    desk.push(*[f"m{number}" for number in range(9)], name="shop.mail", tags=("red",))
    asked = told(operator.post(CANCEL))
    assert "tests.noop 130 shop.mail 9 What it meets All of them can be changed." in asked
    plant(desk, group_of("g", "a", "b", "c", "d"))
    asked = told(operator.post(CANCEL))
    assert "Parts of 1 parent task (group): 4" in asked
    for number in ("1 cannot be changed", "2 cannot be changed, each for this reason"):
        (lease, *_) = desk.claim(1)
        desk.settle(lease)
        asked = told(operator.post("/ops/tasks/_all_cancel?name=tests.noop"))
        assert f"{number}: cancel is not possible while it is succeeded" in asked
    german = operator.post("/ops/tasks/_all_cancel?state=pending", headers={"Accept-Language": "de"})
    assert "Zustand wartend" in told(german)


@pytest.mark.usefixtures("worker")
def test_an_action_that_waits_says_so_with_the_way_to_the_reason(desk: Desk, operator: Client) -> None:
    answer = operator.post(CANCEL, {"confirmed": "130", "reason": "a mistake"}, follow=True)
    assert "It has not begun in pool default." in told(answer)
    ((_, id),) = the_whole().operations
    assert f"/ops/tasks/{id}/why/" in answer.content.decode()


@pytest.mark.usefixtures("worker")
def test_workers_perform_the_action_and_every_page_shows_it(desk: Desk, operator: Client) -> None:
    answer = operator.post(CANCEL, {"confirmed": "130", "reason": "a mistake"}, follow=True)
    assert "0 of at most 130 checked, 0 changed" in told(answer)
    assert "This page may be closed" in told(answer)
    assert "waiting for a worker" in bar(operator)
    lease = claimed(desk)
    done = part(lease)
    assert f"{done.seen} of 130" in bar(operator)
    assert f"{done.changed} /130" in told(operator.get("/ops/audit/"))
    ((pool, id),) = the_whole().operations
    shown = inspect.operation(id, pool)
    assert shown is not None
    assert replace(shown, rate=2.0).left_s == (130 - done.seen) / 2
    assert [replace(shown, rate=rate, is_paused=held).left_s for rate, held in ((0.0, False), (2.0, True))] == [
        None
    ] * 2
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
def test_the_bar_has_the_buttons_that_the_user_may_press(
    desk: Desk, operator: Client, client_of: Callable[..., Client]
) -> None:
    operator.post(CANCEL, {"confirmed": "130", "reason": "a mistake"})
    entry, lease = the_whole(), claimed(desk)
    page = "http://testserver/ops/lanes/?at=1#x"
    head = operator.get("/ops/_status?v=0", headers={"HX-Current-URL": page}).content.decode()
    assert f'action="/ops/audit/{entry.pk}/_operation"' in head
    assert 'name="next" value="/ops/lanes/?at=1"' in head
    assert 'value="pause"' in head
    assert "Undo" not in head
    assert "<form" not in bar(client_of("viewers"))
    part(lease)
    assert f'formaction="/ops/audit/{entry.pk}/_undo"' in bar(operator)
    answer = operator.post(f"/ops/audit/{entry.pk}/_operation", {"what": "pause", "next": "/ops/lanes/?at=1"})
    assert answer["Location"] == "/ops/lanes/?at=1"
    assert 'value="resume"' in bar(operator)
    operator.post(f"/ops/audit/{entry.pk}/_undo")
    assert part(lease).word == "STOP"
    assert set(AuditEntry.objects.values_list("verb", flat=True)) == {"cancel", "pause_operation", "undo cancel"}
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = operator.cookies
    assert strict.post(f"/ops/audit/{entry.pk}/_operation", {"what": "stop"}).status_code == 403


@pytest.mark.usefixtures("worker")
def test_the_page_of_the_action_is_live_while_workers_perform_it(desk: Desk, operator: Client) -> None:
    operator.post(CANCEL, {"confirmed": "130", "reason": "a mistake"})
    entry, lease = the_whole(), claimed(desk)
    page, live = f"/ops/audit/{entry.pk}/", f"/ops/audit/{entry.pk}/_live"
    shown = operator.get(page).content.decode()
    address = shown.split(f'hx-get="{live}')[1].split('"')[0]
    assert operator.get(f"{live}{address}").status_code == 204
    done = part(lease)
    fresh = operator.get(f"{live}{address}").content.decode()
    assert f"{done.seen} of at most 130 checked" in fresh
    assert f'name="next" value="{page}"' in fresh
    through(lease)
    desk.settle(lease)
    ended = operator.get(f"{live}{address}").content.decode()
    assert "130 of 130 changed" in ended
    assert "data-live" not in ended


@pytest.mark.usefixtures("worker")
def test_while_everything_is_read_only_nothing_is_steered(desk: Desk, operator: Client, settings: object) -> None:
    operator.post(CANCEL, {"confirmed": "130", "reason": "a mistake"})
    settings.QUEUEOPS = settings.QUEUEOPS | {"READ_ONLY": True}  # type: ignore[attr-defined]
    assert operator.post(f"/ops/audit/{the_whole().pk}/_operation", {"what": "stop"}).status_code == 403
    assert "130" in bar(operator)
    assert control.MOST
    assert inspect.operations()[0].is_stopping is False


@pytest.mark.usefixtures("worker")
def test_a_page_writes_nothing_while_an_action_runs_and_the_outcome_at_its_end(desk: Desk, operator: Client) -> None:
    operator.post(CANCEL, {"confirmed": "130", "reason": "a mistake"})
    lease = claimed(desk)
    done = part(lease)
    for page in ("lanes/", "_status?v=0", "audit/", f"audit/{the_whole().pk}/"):
        with CaptureQueriesContext(connection) as asked:
            page_text = operator.get(f"/ops/{page}").content.decode()
        assert [query["sql"] for query in asked if query["sql"].startswith("UPDATE")] == [], page
        assert str(done.changed) in page_text
    assert the_whole().changed == 0
    through(lease)
    desk.settle(lease)
    operator.get("/ops/audit/")
    assert (the_whole().outcome, the_whole().changed) == (Outcome.DONE, 130)


def test_a_page_asks_the_database_a_short_question_while_there_is_nothing_to_show(desk: Desk, operator: Client) -> None:
    new_entry("cancel", "t0", actor_name="ada")
    with CaptureQueriesContext(connection) as asked:
        operator.get("/ops/_status?v=0")
    (question,) = [query["sql"] for query in asked if "audit" in query["sql"]]
    assert "EXISTS" not in question.upper()
    assert question.upper().endswith("LIMIT 1")


@pytest.mark.usefixtures("worker")
def test_many_pages_share_one_reading_of_the_operations(
    desk: Desk, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.actions.operations.READING_AGE_S", 60.0)
    monkeypatch.setattr("console.ui.render.STATUS_AGE_S", 60.0)
    operator.post(CANCEL, {"confirmed": "130", "reason": "a mistake"})
    operator.get("/ops/_status?v=0")
    asked = round_trips(desk, lambda: operator.get("/ops/audit/"))
    assert "0 of 130" in bar(operator)
    assert [command for command in asked.sent if "operations" in command] == []
    monkeypatch.setattr("console.actions.operations.READING_AGE_S", 0.0)
    asked = round_trips(desk, lambda: operator.get("/ops/audit/"))
    assert [command for command in asked.sent if "operations" in command] != []


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
        expect(line).to_contain_text("done: 130 of 130 changed")
        assert Axe().run(page).response["violations"] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        page.get_by_role("button", name="Dismiss").click()
        expect(line).to_have_count(0)
        assert page.url == f"{url}/ops/lanes/"


@pytest.mark.usefixtures("worker")
def test_the_bar_of_an_ended_action_stays_with_its_undo_until_it_is_dismissed(
    desk: Desk, operator: Client, client_of: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = done(desk, operator)
    viewer, administrator = client_of("viewers"), client_of("administrators")
    assert "done: 130 of 130 changed" in bar(operator)
    assert f'action="/ops/audit/{entry.pk}/_undo"' in bar(operator)
    assert "Undo" not in bar(viewer)
    assert "Dismiss" in bar(viewer)
    dismissed = operator.post(f"/ops/audit/{entry.pk}/_dismiss", {"next": "/ops/lanes/"})
    assert dismissed["Location"] == "/ops/lanes/"
    assert "operation-line" not in bar(operator)
    assert "operation-line" in bar(administrator), "another session still shows it"
    assert ">Bulk action: " in bar(administrator), "a link with the verb alone reads as a button beside Stop"
    assert operator.get(f"/ops/audit/{entry.pk}/_dismiss").status_code == 405
    monkeypatch.setattr("console.actions.operations.ENDED_FOR", timedelta(0))
    assert "operation-line" not in bar(administrator)


@pytest.mark.usefixtures("worker")
def test_the_bar_of_an_undo_takes_the_place_of_the_bar_of_its_action(desk: Desk, operator: Client) -> None:
    entry = done(desk, operator)
    operator.post(f"/ops/audit/{entry.pk}/_undo")
    (line,) = bar(operator).split("operation-line")[1:]
    assert "Undo: Cancel" in line
    lease = claimed(desk)
    through(lease)
    desk.settle(lease)
    (line,) = bar(operator).split("operation-line")[1:]
    assert "done: 130 of 130 changed" in line
    assert f'action="/ops/audit/{the_whole().pk}/_undo"' not in line, "an undo has no undo"


@pytest.mark.usefixtures("worker")
def test_what_runs_is_shown_before_what_has_ended(desk: Desk, operator: Client) -> None:
    desk.push(*(f"m{number}" for number in range(9)), name="shop.mail")
    operator.post(f"{CANCEL}&name=shop.mail", {"confirmed": "9", "reason": "a mistake"})
    runs = the_whole()
    for number in range(4):
        new_entry("cancel", f"n{number}", actor_name="ada", filter={"state": "x"}, ended_at=timezone.now(), changed=1)
    assert f'id="operation-{runs.pk}"' in bar(operator)
    assert bar(operator).count("operation-line") == 3


@pytest.mark.usefixtures("worker")
def test_an_undo_that_could_not_begin_is_begun_again(
    desk: Desk, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = done(desk, operator)
    undo, control_undo = f"/ops/audit/{entry.pk}/_undo", control.undo_operation

    def lost(*given: object, **named: object) -> object:
        monkeypatch.setattr(control, "undo_operation", control_undo)
        raise BrokerUnavailable(url="redis://host/0", attempts=5, reason="refused")

    monkeypatch.setattr(control, "undo_operation", lost)
    assert operator.post(undo).status_code == 503
    assert (the_whole().verb, the_whole().outcome) == ("undo cancel", Outcome.FAILED)
    assert "Undo: Cancel" in told(operator.post(undo, follow=True))
    lease = claimed(desk)
    assert through(lease).changed == 130
    desk.settle(lease)
    assert "130 of 130 changed" in told(operator.get(f"/ops/audit/{the_whole().pk}/"))
    assert "nothing left to undo" in told(operator.post(undo, follow=True))
    assert AuditEntry.objects.count() == 3


@pytest.mark.usefixtures("worker")
def test_an_undo_whose_process_ended_before_it_began_is_begun_again(desk: Desk, operator: Client) -> None:
    entry = done(desk, operator)
    lost = new_entry("undo cancel", "x", actor_name="ada", undoes=entry, filter=entry.filter, place=ENGINE)
    assert "nothing left to undo" in told(operator.post(f"/ops/audit/{entry.pk}/_undo", follow=True))
    AuditEntry.objects.filter(pk=lost.pk).update(at=timezone.now() - timedelta(minutes=2))
    assert "it was not begun" in told(operator.get(f"/ops/audit/{lost.pk}/"))
    assert "Undo: Cancel" in told(operator.post(f"/ops/audit/{entry.pk}/_undo", follow=True))


def done(desk: Desk, operator: Client) -> AuditEntry:
    """The entry of an action that workers have performed."""
    operator.post(CANCEL, {"confirmed": "130", "reason": "a mistake"})
    lease = claimed(desk)
    through(lease)
    desk.settle(lease)
    operator.get("/ops/audit/")
    return the_whole()
