"""Pages on a phone of 360 px: none scrolls sideways, whatever stands on it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from queueops import inspect
from queueops.inspect import LanePage, LaneRow, LookUp
from tests.console.browsing import Open, menus_stay
from tests.console.standin import World

pytestmark = [pytest.mark.browser, pytest.mark.django_db]
PHONE = {"width": 360, "height": 740}
WIDTH = "document.documentElement.scrollWidth"


def test_chips_without_counts_do_not_make_the_page_wider(
    open_page: Open, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = ("waiting", "postponed", "pending", "locked", "restart", "idle", "succeeded", "failed", "cancelled")
    read = inspect.browse
    uncounted = {"state": [(state, None) for state in states]}
    monkeypatch.setattr(inspect, "browse", lambda *given, **more: replace(read(*given, **more), facets=uncounted))
    page = open_page("tasks/?tag=shop", viewport=PHONE)
    assert page.locator("#states .visually-hidden").count() == len(states)
    assert page.evaluate(WIDTH) == 360


def test_the_way_from_the_find_box_to_the_search_fits(
    open_page: Open, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspect, "look_up", lambda *given, **more: LookUp())
    monkeypatch.setattr(inspect, "facets", lambda query: {})
    page = open_page("find/?q=ORD-42", viewport=PHONE)
    assert page.get_by_role("link", name="Search in arguments and ids").is_visible()
    assert page.evaluate(WIDTH) == 360


def test_the_fields_of_all_cards_are_in_line(open_page: Open, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = tuple(
        LaneRow(pool="default", lane=f"lane-{number}", ready=10**number, active=number, limit=number or None)
        for number in range(4)
    )
    monkeypatch.setattr(inspect, "lane_page", lambda **_: LanePage(rows=rows))
    page = open_page("lanes/", viewport=PHONE)
    for width in (360, 390, 768):
        page.set_viewport_size({"width": width, "height": 740})
        fields = "all => all.map(each => `${each.dataset.label} ${Math.round(each.getBoundingClientRect().left)}`)"
        found = page.locator("#lanes-scroll tbody td[data-label]:not(:has(.btn))").evaluate_all(fields)
        assert len(set(found)) == len(found) / 4, found


def test_menus_of_a_head_stay_on_the_screen_and_a_task_has_its_whole_width(open_page: Open, world: World) -> None:
    page = open_page("tasks/", viewport=PHONE)
    menus_stay(page, "#columns", "#save-view", "#export")
    page.goto("/ops/tasks/task-1/")
    menus_stay(page, ".actions > .menu:not(.notes)", ".actions > .notes")
    assert page.locator("#task").evaluate("each => each.clientWidth") == 336, "the screen without the two edges"
    page.set_viewport_size({"width": 1440, "height": 900})
    tops = []
    for tab in ("", "why/"):
        page.goto(f"/ops/tasks/task-1/{tab}")
        tops.append(page.locator("#task .actions").evaluate("each => each.offsetLeft + ' ' + each.offsetTop"))
    assert tops[0] == tops[1], "actions are in one place"
