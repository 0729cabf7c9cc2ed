"""Right-to-left: pages are mirrored and fit on a phone; drawings, code and ids keep their direction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.console import pseudo
from tests.console.browsing import Open
from tests.console.standin import World

pytestmark = [pytest.mark.browser, pytest.mark.django_db]
PAGES = ("", "tasks/", "tasks/task-1/", "tasks/task-1/why/", "errors/", "lanes/", "workers/", "settings/")
DIRECTION = "each => getComputedStyle(each).direction"
WIDTH = "[document.documentElement.scrollWidth, innerWidth]"


def test_pages_from_right_to_left_fit_on_a_phone(world: World, settings: Any, tmp_path: Path, open_page: Open) -> None:
    pseudo.speak(settings, tmp_path)
    page = open_page("", viewport={"width": 390, "height": 844}, locale=pseudo.CODE)
    for path in PAGES:
        page.goto(f"/ops/{path}")
        assert page.locator("html").get_attribute("dir") == "rtl"
        assert page.evaluate(WIDTH) == [390, 390], path


def test_a_wide_page_is_mirrored_and_drawings_are_not(
    world: World, settings: Any, tmp_path: Path, open_page: Open
) -> None:
    pseudo.speak(settings, tmp_path)
    page = open_page("", viewport={"width": 1440, "height": 900}, locale=pseudo.CODE)
    side, main = (page.locator(each).bounding_box() for each in ("#side", "#main"))
    assert side
    assert main
    assert (side["x"] + side["width"], main["x"]) == (1440, 0)
    assert page.locator("svg.machine-wide").evaluate(DIRECTION) == "ltr"
    page.goto("/ops/tasks/")
    assert page.locator("#main").evaluate(DIRECTION) == "rtl"
    assert page.locator("code.id").first.evaluate(DIRECTION) == "ltr"
