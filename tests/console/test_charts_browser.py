"""Charts in a real browser: the values under the pointer, a drag that zooms, a click that shows a minute."""

from __future__ import annotations

import re
from itertools import pairwise
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.browsing import Open, tick
from tests.console.standin import World
from tests.console.standin_history import HistoryWorld

pytestmark = [pytest.mark.browser, pytest.mark.django_db]


def plot(page: Page, word: str = "flow") -> Locator:
    found = page.locator(f"#history .chart-{word} .plot")
    found.scroll_into_view_if_needed()
    expect(found.locator(".u-over")).to_have_count(1)
    return found


def move(page: Page, place: Locator, share: float) -> None:
    """Move the mouse to a share of the width."""
    box = place.locator(".u-over").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * share, box["y"] + box["height"] / 2)


def query(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlparse(page.url).query).items()}


def test_the_pointer_shows_the_values_of_a_point_in_all_charts(open_page: Open) -> None:
    page = open_page("?range=1h")
    chart = plot(page)
    move(page, chart, 0.0)
    expect(chart.locator(".readout")).to_have_text(re.compile(r"\d\d:\d\d  in 1\.0/s, out 0\.97/s"))
    move(page, chart, 0.995)
    expect(chart.locator(".readout")).to_have_text(re.compile(r"\d\d:\d\d  in 2\.0/s, out 0\.97/s"))
    expect(page.locator("#history .readout")).to_have_count(6)
    expect(plot(page, "backlog").locator(".readout")).to_contain_text("waiting 59, running 4")
    page.mouse.move(5, 5)
    expect(page.locator("#history .readout")).to_have_count(0)


def test_the_cursor_stays_while_the_page_lives(open_page: Open, world: World) -> None:
    page = open_page("?range=1h")
    chart = plot(page)
    move(page, chart, 0.5)
    expect(chart.locator(".readout")).to_contain_text("in 1.5/s")
    world.now += 60_000
    tick(page)
    expect(chart.locator(".readout")).to_contain_text("in 1.5/s")
    expect(page.locator("#history .readout")).to_have_count(6)


def test_the_charts_of_a_young_store_fill_their_width_and_the_pointer_agrees(
    open_page: Open, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    HistoryWorld(world, 12).install(monkeypatch)
    page = open_page("?range=1h")
    chart = plot(page)
    assert chart.locator("path.line").first.evaluate("line => line.getBBox().width") > 990
    expect(page.locator("#history .history-begin")).to_contain_text("The history of this range begins at")
    for share, told in ((0.0, "in 1.8/s"), (0.995, "in 2.0/s")):
        move(page, chart, share)
        expect(chart.locator(".readout")).to_contain_text(told)
    world.now += 60_000
    HistoryWorld(world, 14).install(monkeypatch)
    tick(page)
    expect(page.locator("#history")).to_have_attribute("data-points", "14")
    move(page, chart, 0.5)
    page.mouse.down()
    page.mouse.up()
    expect(page.get_by_role("link", name="Back to live")).to_be_visible()
    assert page.locator("#history .mark").count() == 6


SPY = """() => { window.drawn = []; const draw = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    drawn.push(text); draw.call(this, text, ...rest); }; }"""


def test_no_time_stands_twice_under_a_wide_chart_of_few_minutes(
    open_page: Open, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    HistoryWorld(world, 8).install(monkeypatch)
    page = open_page("")
    page.set_viewport_size({"width": 1600, "height": 900})
    page.add_init_script(f"({SPY})()")
    page.goto("/ops/errors/f00d/?range=1h")
    plot(page, "failures")
    times = page.evaluate("drawn.filter(text => /^\\d\\d:\\d\\d$/.test(text))")
    assert times
    assert all(one != other for one, other in pairwise(times))


def test_a_click_shows_the_figures_of_that_minute(open_page: Open) -> None:
    page = open_page("lanes/default/slow/?range=1h")
    chart = plot(page)
    move(page, chart, 0.5)
    page.mouse.down()
    page.mouse.up()
    expect(page.get_by_role("link", name="Back to live")).to_be_visible()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\dZ", query(page)["at"])
    assert query(page)["range"] == "1h"


def test_a_drag_zooms_and_escape_gives_it_up(open_page: Open) -> None:
    page = open_page("?range=24h")
    before = page.url
    chart = plot(page)
    for ends in ("Escape", ""):
        move(page, chart, 0.25)
        page.mouse.down()
        move(page, chart, 0.5)
        expect(chart.locator(".u-select")).not_to_have_css("width", "0px")
        if ends:
            page.keyboard.press(ends)
        page.mouse.up()
        if ends:
            assert page.url == before
    page.wait_for_url(re.compile("since="))
    assert sorted(query(page)) == ["since", "until"]
    expect(page.get_by_role("link", name="Back to live")).to_be_visible()
    assert page.locator("#history .chart").count() == 6


def test_a_line_that_is_switched_off_stays_off_while_the_page_lives(open_page: Open, world: World) -> None:
    page = open_page("?range=1h")
    plot(page, "run")
    key = page.locator("#history .chart-run .key-3")
    key.focus()
    page.keyboard.press("Enter")
    expect(key).to_have_attribute("aria-pressed", "false")
    world.now += 60_000
    before = page.locator("#history").get_attribute("data-from")
    tick(page)
    expect(page.locator("#history")).not_to_have_attribute("data-from", before or "")
    plot(page, "run")
    expect(key).to_have_attribute("aria-pressed", "false")
    key.click()
    expect(key).to_have_attribute("aria-pressed", "true")


def test_without_javascript_the_charts_and_the_form_are_there(open_page: Open) -> None:
    page = open_page("?range=1h", java_script_enabled=False)
    assert page.locator("#history .chart path.line").count() == 12
    assert page.locator("#history .hits rect title").count() > 100
    page.locator("#history input[name=at]").fill("2026-01-01T10:00")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("link", name="Back to live")).to_be_visible()


def test_charts_of_a_row_stand_side_by_side_however_long_their_titles_are(open_page: Open) -> None:
    page = open_page("", viewport={"width": 1280, "height": 900})
    tops = page.locator("#history .plot").evaluate_all("all => all.map(each => each.getBoundingClientRect().top)")
    titles = page.locator("#history figcaption").evaluate_all(
        "all => all.map(each => new Set([...each.children].map(part => part.offsetTop)).size)"
    )
    assert set(titles) == {1, 2}  # lines
    assert len(set(tops)) == 2, tops
