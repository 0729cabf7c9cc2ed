"""The navigation stays in sight, however long a page is and however low the window."""

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


@pytest.mark.parametrize("height", [740, 360])
def test_on_a_telephone_the_strip_stays_on_a_long_page(height: int, open_page: Open, world: World) -> None:
    world.states = {f"task-{number}": "failed" for number in range(50)}
    page = open_page("tasks/?state=failed", viewport={"width": 360, "height": height})
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    assert page.evaluate("scrollY") > 1500
    expect(page.locator("nav.side [aria-current]")).to_be_in_viewport(ratio=1)
    strip, top = (page.locator(part).bounding_box() for part in ("nav.side", "header.top"))
    assert strip is not None
    assert top is not None
    assert round(strip["y"]) == 0
    assert round(top["y"]) == round(strip["height"]) if height == 740 else top["y"] < 0
    page.locator("nav.side a").last.focus()
    expect(page.locator("nav.side a").last).to_be_in_viewport(ratio=1)
