"""Narrow screens: names and ids stand on one line where there is room, and a card's buttons have one place."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.console.browsing import Open
from tests.console.standin import World

pytestmark = [pytest.mark.browser, pytest.mark.django_db]
PHONE = {"width": 390, "height": 844}
LINES = "all => all.map(each => each.getClientRects().length)"
BOXES = "all => all.map(each => each.getBoundingClientRect())"
ID = "01M8EKDBRQ8RMMHFBT0NWC93DE"


def test_the_names_and_ids_of_errors_are_on_one_line(open_page: Open, world: World) -> None:
    world.text = "demo.wait_for_an_answer"
    page = open_page("errors/", viewport=PHONE)
    for width in (390, 768):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.locator("#errors td[data-label='Task'] a").evaluate_all(LINES) == [1], width
    page.set_viewport_size(PHONE)
    page.goto("/ops/errors/f00/")
    (whole,) = page.locator("#error-figures dl").evaluate_all(BOXES)
    *_, sample = page.locator("#error-figures dl > div").evaluate_all(BOXES)
    assert sample["width"] > whole["width"] * 0.9, "an id has the whole line"


def test_the_form_of_the_history_has_its_button_beside_its_field(open_page: Open, world: World) -> None:
    for language in ("en", "de"):
        page = open_page("errors/f00/", viewport=PHONE, locale=language)
        (field,) = page.locator(".scrub input[name=at]").evaluate_all(BOXES)
        (button,) = page.locator(".scrub > button").evaluate_all(BOXES)
        assert abs(field["bottom"] - button["bottom"]) < 4
        assert button["left"] > field["right"]
        for link in page.locator(".scrub > a").evaluate_all(BOXES):
            assert link["bottom"] < field["top"]


def test_the_type_of_an_error_is_broken_behind_a_point(open_page: Open, world: World) -> None:
    world.text = "queueops.errors.job_network.DownloadFailed"
    page = open_page("tasks/task-1/", viewport=PHONE)
    assert page.locator(".card-bad .card-head h2").first.inner_html().count("<wbr>") == 4


def test_an_audit_entry_shows_all_of_its_tasks_on_a_phone(open_page: Open, world: World) -> None:
    world.states |= {ID: "failed"}
    page = open_page(f"tasks/{ID}/", viewport=PHONE)
    page.get_by_role("button", name="Retry", exact=True).click()
    expect(page.locator(".flash").first).to_be_visible()
    page.goto("/ops/audit/")
    page.locator("#audit-scroll tbody th a").first.click()
    expect(page.locator("#changes-scroll")).to_be_visible()
    assert page.locator("#changes-scroll").evaluate("each => each.scrollWidth - each.clientWidth") <= 0
    assert page.locator("#changes-scroll td[data-label='After']").is_visible()
    page.set_viewport_size({"width": 1024, "height": 800})
    page.goto("/ops/audit/")
    assert page.locator("#audit-scroll td .under code").evaluate_all(LINES) == [1]


def test_the_buttons_of_a_card_stand_at_its_end(open_page: Open, world: World) -> None:
    page = open_page("schedules/", viewport=PHONE)
    card = page.locator("#schedules tbody tr:has(td:last-child .btn)").first
    (head,) = card.locator("th").evaluate_all(BOXES)
    (buttons,) = card.locator("td:last-child .inline").evaluate_all(BOXES)
    assert buttons["top"] < head["bottom"], "beside the name"
    for path in ("files/", "api-tokens/", "alerts/"):
        page.goto(f"/ops/{path}")
        card = page.locator("main .cards tbody tr:has(td:last-child .btn)").first
        *_, last = card.locator(".btn:visible").evaluate_all(BOXES)
        (row,) = card.evaluate_all(BOXES)
        assert row["right"] - last["right"] < 20, path


def test_nine_figures_of_a_pool_are_in_lines_of_the_same_length(open_page: Open, world: World) -> None:
    page = open_page("pools/default/", viewport={"width": 1200, "height": 800})
    tops: dict[int, Any] = {}
    for width in (1200, 768):
        page.set_viewport_size({"width": width, "height": 800})
        figures = page.locator("main .figures").first.locator("> div").evaluate_all(BOXES)
        tops[width] = sorted({round(each["top"]) for each in figures})
        assert len(figures) == 9
    assert [len(each) for each in tops.values()] == [1, 2]
