"""Clicks in a real browser, on the real engine: a past minute, a lane, a worker, a bulk action in the head."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from console.audit.log import new_entry
from console.pages.history import written
from queueops import control, inspect
from queueops.inspect import TaskQuery
from queueops.model.contracts import Outcome
from queueops.redis.broker import get_broker
from tests.console.browsing import Open, browsing, serving, tick
from tests.console.test_operations import ENGINE
from tests.console.test_past import DAY_MS, keep
from tests.inspecting.test_why import beat
from tests.kernel.desk import POOL, Desk
from tests.operations.playing import claimed, part, through

pytestmark = [pytest.mark.django_db, pytest.mark.browser]


@pytest.fixture
def desk(namespace: str, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """Each answer is read anew."""
    monkeypatch.setattr("console.actions.operations.READING_AGE_S", 0.0)
    for page in ("lane", "lanes", "worker", "registry"):
        monkeypatch.setattr(f"console.pages.{page}.READING_AGE_S", 0.0)
    return Desk(get_broker())


@pytest.fixture
def open_real(desk: Desk) -> Iterator[Open]:
    """Opens pages of the console, behind which the real engine is."""
    with serving() as url, browsing(url) as opened:
        yield opened


@pytest.mark.parametrize("path", ["", "lanes/default/mails/", "registry/shop.mail/"])
def test_all_figures_follow_a_scrub_to_a_minute_and_come_back(desk: Desk, open_real: Open, path: str) -> None:
    desk.push("a", name="shop.mail", lane="mails")
    at = desk.now() - DAY_MS
    keep(desk, at)
    page = open_real(path)
    page.get_by_label("Show figures for").fill(written(at)[:16])
    page.get_by_role("button", name="Show").click()
    past = page.locator(".past")
    expect(past).to_contain_text("yesterday")
    expect(page.locator("#history .figures")).to_contain_text("321")
    page.get_by_role("link", name="Earlier").click()
    expect(page.locator("main")).to_contain_text("The history has no figures of this time.")
    page.get_by_role("link", name="Later").click()
    expect(page.locator("#history .figures")).to_contain_text("321")
    page.get_by_role("link", name="Back to live").click()
    expect(past).to_have_count(0)


def test_the_form_of_a_lane_sets_its_limits_and_refuses_others(desk: Desk, open_real: Open) -> None:
    desk.push("a", "b", "c", lane="mails")
    page = open_real("lanes/default/mails/")
    page.get_by_label("limit", exact=True).fill("2")
    page.get_by_label("starts/s").fill("0.5")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page.get_by_label("limit", exact=True)).to_have_value("2")
    expect(page.get_by_label("starts/s")).to_have_value("0.5")
    found = inspect.lane("default", "mails")
    assert found is not None
    assert (found.row.limit, found.row.rate) == (2, 0.5)
    page.get_by_label("limit", exact=True).fill("0")
    page.get_by_role("button", name="Set", exact=True).click()
    assert page.get_by_label("limit", exact=True).evaluate("field => field.validity.rangeUnderflow")
    page.get_by_label("limit", exact=True).fill("")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page.get_by_label("limit", exact=True)).to_have_value("")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#lane-live")).to_contain_text("The lane is paused.")


def test_a_worker_shows_its_slots_and_runs_and_its_stacks_on_request(desk: Desk, open_real: Open) -> None:
    desk.push("good", "bad", "now", name="shop.mail")
    first, second, third = desk.claim(3)
    desk.settle(first)
    desk.settle(second, Outcome.ERROR, delay_ms=-1)
    running = json.dumps([[third.id, "shop.mail", desk.now() - 5000, "default"]])
    beat(desk, slots=3, busy=1, running=running)
    page = open_real("workers/w1/")
    expect(page.locator("#slots-scroll tbody tr")).to_have_count(3)
    expect(page.locator("#slots-scroll")).to_contain_text("shop.mail")
    expect(page.locator(".slot-runs rect")).not_to_have_count(0)
    page.get_by_role("button", name="Ask for stacks").click()
    expect(page.locator("#stacks")).to_contain_text("has not answered yet")
    assert desk.broker.keep_stack(POOL, "w1", 'Thread 0x1\n  File "shop/tasks.py", line 7 in send_mail\n')
    tick(page)
    expect(page.locator("#stacks")).to_contain_text("line 7 in send_mail")


def test_the_bar_in_the_head_pauses_resumes_stops_and_undoes(desk: Desk) -> None:
    beat(desk, slots=8, pools="default", lanes="", names="")
    desk.push(*[f"t{number}" for number in range(230)])
    lease, begun = begin(desk)
    done = part(lease)
    with serving() as url, browsing(url) as open_page:
        page = open_page("lanes/")
        bar = page.locator(".operation-line")
        expect(bar).to_contain_text(f"{done.seen} of 230")
        bar.get_by_role("button", name="Pause").click()
        expect(bar).to_contain_text("paused")
        assert part(lease).word == "HELD"
        bar.get_by_role("button", name="Resume").click()
        expect(bar.get_by_role("button", name="Pause")).to_be_visible()
        assert part(lease).word == "MORE"
        bar.get_by_role("button", name="Undo").click()
        expect(page.locator("main")).to_contain_text("Undo: Cancel")
        assert part(lease).word == "STOP"
        desk.settle(lease, Outcome.CANCEL, value=b"stopped")
        undoing = claimed(desk)
        assert through(undoing).changed > done.changed
        desk.settle(undoing)
        tick(page)
        expect(bar).to_contain_text("changed")
        expect(bar.get_by_role("button")).to_have_text(["Dismiss Undo: Cancel"])
        assert set(desk.states(*[f"t{number}" for number in range(230)])) == {"pending"}
        assert begun[0] == POOL


def test_a_stop_in_the_head_leaves_what_was_changed(desk: Desk) -> None:
    beat(desk, slots=8, pools="default", lanes="", names="")
    desk.push(*[f"t{number}" for number in range(230)])
    lease, _ = begin(desk)
    done = part(lease)
    with serving() as url, browsing(url) as open_page:
        page = open_page("workers/")
        page.locator(".operation-line").get_by_role("button", name="Stop").click()
        expect(page.locator("main")).to_contain_text("Stop")
        assert part(lease).word == "STOP"
        desk.settle(lease, Outcome.CANCEL, value=b"stopped")
        tick(page)
        expect(page.locator(".operation-line")).to_contain_text(f"partly done: {done.changed} of")
        expect(page.locator(".operation-line progress")).to_have_count(0)
        states = desk.states(*[f"t{number}" for number in range(230)])
        assert states.count("cancelled") == done.changed


def begin(desk: Desk) -> tuple[object, tuple[str, str]]:
    """A cancel of all that waits, whose first part is not performed yet, and its pool and id."""
    (begun,) = control.begin_operation("cancel", TaskQuery(state="pending"), who="ada")
    facts = {"filter": {"state": "pending"}, "count": 230, "before": {"operations": [list(begun)]}}
    new_entry("cancel", "state=pending", actor_name="ada", place=ENGINE, **facts)
    return claimed(desk), begun
