"""Pause and resume of a task name in the console, on the real engine."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import pytest
from django.test import Client
from playwright.sync_api import expect

from console.models import AuditEntry
from queueops import control, inspect
from queueops.redis.broker import get_broker
from tests.console.browsing import Open, browsing, serving, tick
from tests.inspecting.test_why import beat
from tests.kernel.desk import Desk

pytestmark = pytest.mark.django_db
NAME = "shop.resize"
PAGE = f"/ops/registry/{NAME}/"


@pytest.fixture
def desk(namespace: str) -> Desk:
    desk = Desk(get_broker())
    beat(desk, names=NAME)
    desk.push("a", "b", name=NAME, lane="mail")
    return desk


@pytest.fixture
def open_real(desk: Desk) -> Iterator[Open]:
    """Opens pages of the console, behind which the real engine is."""
    with serving() as url, browsing(url) as opened:
        yield opened


def words(client: Client, page: str) -> str:
    """The words of a page."""
    text = re.sub(r"<[^>]+>", " ", client.get(page).content.decode())
    return " ".join(html.unescape(text).split())


def paused_in() -> list[str]:
    found = inspect.task_name(NAME)
    assert found is not None
    return [pause.pool for pause in found.paused]


def test_a_pause_is_told_where_one_looks_and_ends_by_the_remedy(desk: Desk, administrator: Client) -> None:
    administrator.post(f"{PAGE}_pause", {"next": PAGE})
    assert desk.claim(1) == []
    assert "No task of this name starts there." in words(administrator, PAGE)
    assert "2 more tasks of paused names wait beside the lane" in words(administrator, "/ops/lanes/default/mail/")
    assert f"Task name {NAME} of pool default is paused: 2 tasks wait" in words(administrator, "/ops/")
    why = administrator.get("/ops/tasks/a/why/").content.decode()
    assert f'href="{PAGE}"' in why
    (remedy,) = set(re.findall(rf'action="({PAGE}_resume[^"]*)"', why))
    assert administrator.post(remedy).status_code == 302
    assert paused_in() == []
    assert len(desk.claim(2)) == 2


def test_each_step_is_in_the_audit_log_and_can_be_taken_back(desk: Desk, administrator: Client) -> None:
    Desk(desk.broker, "other").push("c", name=NAME)
    control.pause_name(NAME, "other")
    administrator.post(f"{PAGE}_pause")
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.target) == ("pause_name", NAME)
    assert (entry.before, entry.after) == (
        {"name": NAME, "paused_in": ["other"]},
        {"name": NAME, "paused_in": ["default", "other"]},
    )
    administrator.post(f"/ops/audit/{entry.pk}/_undo")
    assert paused_in() == ["other"]
    administrator.post(f"{PAGE}_resume?pool=other")
    assert paused_in() == []
    entry = AuditEntry.objects.get(verb="resume_name")
    administrator.post(f"/ops/audit/{entry.pk}/_undo")
    assert paused_in() == ["other"]


def test_a_pause_in_one_pool_says_so_and_offers_the_others(desk: Desk, administrator: Client) -> None:
    Desk(desk.broker, "other").push("c", name=NAME)
    done = administrator.post(f"{PAGE}_pause?pool=default", {"next": PAGE}, follow=True).content.decode()
    assert f"Pause the name: default/{NAME}. No task of this name starts in default. Running tasks" in done
    assert "Its tasks still start in other." in done
    assert f'action="{PAGE}_pause"' in done
    assert f'action="{PAGE}_resume"' in done
    assert "Pause in all pools" in done
    administrator.post(f"{PAGE}_pause", {"next": PAGE})
    assert paused_in() == ["default", "other"]
    assert f'action="{PAGE}_pause"' not in administrator.get(PAGE).content.decode()
    assert f"Resume {NAME} in pool default" in administrator.get("/ops/tasks/a/why/").content.decode()


def test_others_may_look_and_not_pause(desk: Desk, operator: Client) -> None:
    assert "_pause" not in operator.get(PAGE).content.decode()
    assert operator.post(f"{PAGE}_pause").status_code == 403
    assert paused_in() == []


def test_a_name_that_was_never_used_is_not_found(desk: Desk, administrator: Client) -> None:
    assert administrator.post("/ops/registry/shop.none/_pause").status_code == 404


@pytest.mark.browser
def test_a_click_pauses_and_one_more_resumes(desk: Desk, open_real: Open) -> None:
    page = open_real(f"registry/{NAME}/")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("Pause the name: shop.resize. No task of this name starts in default.")).to_be_visible()
    expect(page.locator("#name-live .flash")).to_contain_text("Paused in the pool default")
    assert desk.claim(1) == []
    tick(page)
    expect(page.locator("#name-live .flash")).to_contain_text("2 tasks were taken out of their lanes.")
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("Resume the name: shop.resize. Its tasks return to their places")).to_be_visible()
    expect(page.locator("#name-live .flash")).to_have_count(0)
    assert len(desk.claim(2)) == 2
