"""The navigation stays in sight beside a long page in a low window; on a narrow screen it is a drawer."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.console.browsing import Open
from tests.console.standin import World

pytestmark = [pytest.mark.browser, pytest.mark.django_db]


@pytest.mark.parametrize("height", [900, 320])
def test_the_navigation_stays_on_a_long_page(height: int, open_page: Open, world: World) -> None:
    world.states = {f"task-{number}": "failed" for number in range(50)}
    page = open_page("tasks/?state=failed", viewport={"width": 1280, "height": height})
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    assert page.evaluate("scrollY") > 1500
    here = page.locator("nav.side [aria-current]")
    expect(here).to_be_in_viewport(ratio=1)
    box = page.locator("nav.side").bounding_box()
    assert box is not None
    assert (round(box["y"]), round(box["height"])) == (0, height)
    page.locator("nav.side a").last.focus()
    expect(page.locator("nav.side a").last).to_be_in_viewport(ratio=1)


def test_on_a_narrow_screen_the_navigation_is_a_drawer_that_needs_no_script(open_page: Open, world: World) -> None:
    for width, scripts in ((360, False), (1024, True)):
        page = open_page("settings/", viewport={"width": width, "height": 740}, java_script_enabled=scripts)
        drawer, button = page.locator("nav.side"), page.get_by_role("button", name="Navigation", exact=True)
        expect(drawer).to_be_hidden()
        button.click()
        here = drawer.locator("[aria-current]")
        expect(here).to_have_text("Settings")
        drawer.get_by_role("link", name="Settings").focus()
        expect(here).to_be_in_viewport(ratio=1)
        drawer.get_by_role("button", name="Close the navigation").click()
        expect(drawer).to_be_hidden()
        button.click()
        drawer.get_by_role("link", name="Lanes").click()
        expect(page.get_by_role("heading", name="Lanes", level=1)).to_be_visible()
        expect(drawer).to_be_hidden()
        page.set_viewport_size({"width": 1280, "height": 740})
        expect(drawer).to_be_visible()
        box, stage = drawer.bounding_box(), page.locator(".stage").bounding_box()
        assert box is not None
        assert stage is not None
        assert stage["x"] == box["width"]


def test_a_group_of_the_navigation_stays_folded_and_marks_that_it_holds_the_page(open_page: Open, world: World) -> None:
    page = open_page("lanes/", viewport={"width": 1280, "height": 900})
    assert page.locator("nav.side summary").all_inner_texts()[:4] == ["Work", "Jobs", "Fleet", "Admin"]
    fleet = page.locator("#side-fleet > summary")
    plain = fleet.evaluate("each => getComputedStyle(each).color")
    fleet.click()
    assert fleet.evaluate("each => getComputedStyle(each).color") != plain
    page.reload()
    expect(page.locator("nav.side").get_by_role("link", name="Workers")).to_be_hidden()
    page.keyboard.press("g")
    page.keyboard.press("w")
    expect(page.get_by_role("heading", name="Workers", level=1)).to_be_visible()
