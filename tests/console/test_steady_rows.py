"""The list of tasks in a real browser: rows, ticks and counts stay in their places while all of it lives."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from playwright.sync_api import expect

from queueops import inspect
from tests.console.browsing import Open, tick
from tests.console.listed import heights, many, rows, ticked
from tests.console.standin import World

pytestmark = [pytest.mark.browser, pytest.mark.django_db]


def test_ticks_focus_scroll_and_rows_survive_twenty_ticks(open_page: Open, world: World) -> None:
    many(world)
    page = open_page("tasks/?state=failed")
    before = rows(page)
    page.locator(".tick").nth(2).check()
    page.locator(".tick").nth(4).check()
    page.locator("[data-open]").nth(9).focus()
    page.evaluate("scrollTo(0, 400)")
    for number in range(20):
        world.states[f"new-{number}"] = "failed"
        world.entered[f"new-{number}"] = 20_000 + number
        world.text = f"name-{number}"
        tick(page)
    assert rows(page) == before
    assert ticked(page) == ["default task-2", "default task-4"]
    assert page.evaluate("document.activeElement.closest('tr').id") == before[9]
    assert page.evaluate("scrollY") == 400
    expect(page.locator("#new")).to_have_text("20 new or changed: show")
    expect(page.locator("#rows tbody tr [data-open]").first).to_have_text("name-19")
    expect(page.locator("#bulk")).to_be_visible()
    expect(page.locator("#ticked")).to_have_text("2")


@pytest.mark.parametrize("width", [1360, 360])
def test_a_row_whose_state_does_not_match_any_more_says_so_in_its_place(
    width: int, open_page: Open, world: World
) -> None:
    many(world, 6)
    page = open_page("tasks/?state=failed", viewport={"width": width, "height": 900})
    before = heights(page)
    page.locator(".tick").nth(1).check()
    world.states["task-1"] = "succeeded"
    del world.states["task-3"]
    tick(page)
    row = page.locator("#rows tbody tr").nth(1)
    expect(row).to_have_attribute("data-gone", "")
    expect(row.locator(".state-cell")).to_have_text("now succeeded")
    expect(page.locator("#rows tbody tr").nth(3).locator(".state-cell")).to_have_text("now deleted")
    expect(page.locator("#rows tbody tr[data-gone]")).to_have_count(2)
    assert heights(page) == before
    assert ticked(page) == ["default task-1"]
    world.states["task-1"] = "failed"
    tick(page)
    expect(row).not_to_have_attribute("data-gone", "")
    expect(row.locator(".state-cell")).to_have_text("failed")


@pytest.mark.parametrize("width", [1360, 360])
def test_rows_that_left_the_first_page_keep_their_place_and_height(width: int, open_page: Open, world: World) -> None:
    many(world, 60)
    page = open_page("tasks/", viewport={"width": width, "height": 900})
    before, shown = heights(page), rows(page)
    for number in range(55):
        world.states[f"new-{number}"] = "failed"
        world.entered[f"new-{number}"] = 20_000 + number
    world.states["task-3"] = "postponed"
    tick(page)
    expect(page.locator("#new")).to_have_text("50 or more new or changed: show")
    expect(page.locator("#rows tbody tr[data-gone]")).to_have_count(0)
    expect(page.locator("#rows tbody tr").nth(3).locator(".state-cell")).to_contain_text("postponed")
    assert rows(page) == shown
    assert heights(page) == before
    button, heading = page.locator("#new a").bounding_box(), page.locator("#rows thead").bounding_box()
    assert button is not None
    if heading is not None and heading["height"] > 1:  # on a telephone, each row is a card without headings
        assert button["y"] + button["height"] <= heading["y"]
        count = page.locator("#rows > .card-head > p b").bounding_box()
        assert count is not None
        assert button["x"] >= count["x"] + count["width"]


def test_a_row_gets_no_more_lines_than_it_was_shown_with(open_page: Open, world: World) -> None:
    many(world, 4)
    whole = world.row
    world.row = lambda id: replace(whole(id), error="", reason="")  # type: ignore[method-assign]
    page = open_page("tasks/")
    before = heights(page)
    world.row = whole  # type: ignore[method-assign]
    tick(page)
    assert heights(page) == before
    page.reload()
    with_errors = heights(page)
    assert with_errors != before
    world.row = lambda id: replace(whole(id), error="", reason="")  # type: ignore[method-assign]
    tick(page)
    assert heights(page) == with_errors


def test_counts_and_facets_of_the_list_are_live_and_keep_their_places(
    open_page: Open, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: dict[str, list[tuple[str, int | None]]] = {
        "state": [("pending", 4414), ("failed", 3)],
        "name": [("first", 9), ("second", 8)],
    }
    monkeypatch.setattr(inspect, "facets", lambda query: counts)
    page = open_page("tasks/")
    states, names = page.locator("#states .chip b"), page.locator("#facets li")
    expect(states).to_have_text(["4,414", "3"])
    names.nth(1).locator("a").focus()
    counts["state"] = [("pending", 4300), ("idle", 1), ("failed", 4)]
    counts["name"] = [("second", 30), ("third", 12), ("first", 10)]
    tick(page)
    expect(states).to_have_text(["4,300", "4", "1"])
    expect(names).to_have_text(["first 10", "second 30", "third 12"])
    assert page.evaluate("document.activeElement.closest('li').dataset.key") == "second"


def test_the_new_ones_come_when_they_are_asked_for(open_page: Open, world: World) -> None:
    many(world, 3)
    page = open_page("tasks/?state=failed")
    world.states["new"], world.entered["new"] = "failed", 99_999
    tick(page)
    page.get_by_role("link", name="1 new or changed: show").click()
    expect(page.locator("#rows tbody tr")).to_have_count(4)
    expect(page.locator("#rows tbody tr [data-open]").first).to_have_attribute("href", "/ops/tasks/new/?pool=default")


def test_the_figures_of_an_error_are_live(open_page: Open, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    (group,) = world.errors()
    page = open_page("errors/f00/")
    figures = page.locator("#error-figures dd")
    expect(figures.first).to_have_text("3")
    monkeypatch.setattr(inspect, "errors", lambda limit=100: inspect.Listing([replace(group, count=4321, failed=9)]))
    tick(page)
    expect(figures.first).to_have_text("4,321")
    expect(page.locator("#live")).to_be_visible()


def test_compact_rows_have_one_line_and_are_remembered(open_page: Open, world: World) -> None:
    many(world, 6)
    page = open_page("settings/")
    page.get_by_label("compact: one line each").check()
    page.get_by_role("button", name="Save settings").click()
    page.goto("/ops/tasks/?state=failed")
    assert {height for _, height in heights(page)} == {32}
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 360, "height": 740})
    assert min(height for _, height in heights(page)) > 40
