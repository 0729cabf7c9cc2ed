"""An action on all that match, in a real browser: it goes on by itself, until one leaves it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from console.actions import bulk
from console.pages import bulk as views
from tests.console.browsing import Open
from tests.console.standin import World
from tests.console.test_browser import many

pytestmark = [pytest.mark.browser, pytest.mark.django_db, pytest.mark.usefixtures("single_steps")]


@pytest.fixture
def single_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """One task a step, and one step a request."""
    for module in (bulk, views):
        monkeypatch.setattr(module, "MOST", 1)
    monkeypatch.setattr(bulk, "SECONDS", 0.0)


@pytest.mark.parametrize("scripts", [True, False])
def test_an_action_in_steps_goes_on_by_itself_or_with_a_button(scripts: bool, open_page: Open, world: World) -> None:
    many(world, 3)
    page = open_page("tasks/?state=failed", java_script_enabled=scripts)
    page.locator("#whole > summary").click()
    page.locator("#whole").get_by_role("button", name="Retry").click()
    page.get_by_role("main").get_by_role("button", name="Retry").click()
    if not scripts:
        page.get_by_role("button", name="Continue").click()
    expect(page.locator("[data-flash]")).to_contain_text("Retry: 2 tasks.")
    assert len(world.calls) == 2


def test_who_leaves_an_action_in_steps_is_not_carried_on_with_it(open_page: Open, world: World) -> None:
    many(world, 9)
    page = open_page("tasks/?state=failed")
    posts: list[str] = []
    page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    page.clock.install()
    page.clock.pause_at(2_000_000_000)
    page.locator("#whole > summary").click()
    page.locator("#whole").get_by_role("button", name="Retry").click()
    page.get_by_role("main").get_by_role("button", name="Retry").click()
    expect(page.get_by_text("The action continues while this page is open.")).to_be_visible()
    posts.clear()
    page.evaluate("dispatchEvent(new Event('beforeunload'))")  # as a click on a link or a button does at once
    page.clock.run_for(1000)
    assert posts == []
    page.get_by_role("link", name="Pause").click()
    expect(page.get_by_text("The action is paused on this page")).to_be_visible()
    assert len(world.calls) == 1
