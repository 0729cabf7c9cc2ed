"""The chunks of a map-reduce task in a real browser: the strip under pointer and keys, and mending with one click."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import Page, expect

from queueops import MapReduce, Retry, TaskHandle
from queueops.kinds.mapreduce.options import Results
from queueops.testing import run_worker
from tests.console.browsing import Open, browsing, menus_stay, serving, tick

pytestmark = [pytest.mark.browser, pytest.mark.django_db]
BROKEN: set[int] = set()


class Doubles(MapReduce):
    """Doubles numbers; those that are broken fail and back off for long."""

    name = "tests.doubles"
    chunk_retries = 5
    chunk_retry = Retry(delay=3600)

    def map(self, count: int) -> Iterator[int]:
        yield from range(count)

    def process(self, chunk: int) -> int:
        if chunk in BROKEN:
            raise ValueError(f"{chunk} is broken")
        return 2 * chunk

    def reduce(self, results: Results) -> int:
        return sum(results)


@pytest.fixture
def open_chunks(namespace: str, db: None) -> Iterator[Open]:
    """Opens pages of the console, behind which the real engine is."""
    with serving() as url, browsing(url) as opened:
        yield opened


@pytest.fixture
def handle(namespace: str) -> Iterator[TaskHandle[int]]:
    """40 chunks of which three are broken; the others are done."""
    BROKEN.update({3, 20, 21})
    found: TaskHandle[int] = Doubles.using(id="doubles").push(40)
    run_worker()
    yield found
    BROKEN.clear()


def told(page: Page) -> str:
    return page.locator("#chunk-told").inner_text()


def test_errored_chunks_are_retried_with_one_click_and_are_done(open_chunks: Open, handle: TaskHandle[int]) -> None:
    page = open_chunks("mapreduce/doubles/")
    legend = page.locator(".chunk-legend")
    expect(legend).to_contain_text("37 done")
    expect(legend).to_contain_text("3 errored")
    BROKEN.clear()
    page.get_by_role("button", name="Retry 3 failed chunks").click()
    expect(page.locator("[data-flash]")).to_contain_text("Retry: 3 chunks.")
    run_worker()
    tick(page)
    expect(legend).to_contain_text("40 done")
    expect(page.locator(".task-state")).to_contain_text("succeeded")
    expect(page.get_by_role("button", name="failed chunk")).to_have_count(0)
    for width in (360, 800):
        page.set_viewport_size({"width": width, "height": 740})
        menus_stay(page, "#restart")  # now the first action
    with ThreadPoolExecutor(1) as other:  # this thread has the event loop of Playwright
        assert other.submit(handle.result, timeout=60).result() == 2 * sum(range(40))


def test_arrow_keys_walk_along_the_chunks_and_enter_opens_one(open_chunks: Open, handle: TaskHandle[int]) -> None:
    page = open_chunks("mapreduce/doubles/")
    page.locator("#chunk-cursor").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert told(page) == "Chunk 3: errored, failed attempts: 1"
    assert page.locator("#chunk-cursor").get_attribute("aria-valuetext") == told(page)
    page.keyboard.press("End")
    assert told(page) == "Chunk 39: done"
    tick(page)
    assert page.locator("#chunk-cursor").input_value() == "39"
    for _ in range(18):
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    page.wait_for_url("**/mapreduce/doubles/21/**")
    expect(page.locator("h1")).to_have_text("Chunk 21")
    expect(page.locator("main")).to_contain_text("21 is broken")


def test_the_pointer_is_told_what_it_is_over_and_a_click_opens_it(open_chunks: Open, handle: TaskHandle[int]) -> None:
    page = open_chunks("mapreduce/doubles/")
    box = page.locator("#chunk-cursor").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 20.5 / 40, box["y"] + 20)
    expect(page.locator("#chunk-tip")).to_have_text("Chunk 20: errored, failed attempts: 1")
    page.mouse.down()
    page.mouse.up()
    page.wait_for_url("**/mapreduce/doubles/20/**")


def test_what_the_pointer_was_told_stays_while_it_rests_and_is_told_anew(
    open_chunks: Open, handle: TaskHandle[int]
) -> None:
    page = open_chunks("mapreduce/doubles/")
    box = page.locator("#chunk-cursor").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 3.5 / 40, box["y"] + 20)
    tip = page.locator("#chunk-tip")
    expect(tip).to_have_text("Chunk 3: errored, failed attempts: 1")
    BROKEN.clear()
    handle_chunks(page)
    expect(tip).to_be_visible()
    expect(tip).to_have_text("Chunk 3: done")
    page.mouse.move(5, 5)
    expect(tip).to_be_hidden()


def test_ticked_chunks_stay_ticked_and_in_their_places(open_chunks: Open, handle: TaskHandle[int]) -> None:
    page = open_chunks("mapreduce/doubles/?state=errored")
    page.locator("#b-20").check()
    BROKEN.clear()
    handle_chunks(page)
    expect(page.locator("#c-3 .state")).to_have_text("done")
    assert page.locator("#b-20").is_checked()
    expect(page.locator("#c-20 .state")).to_have_text("errored")
    page.get_by_role("group", name="Actions on the selected chunks").get_by_role("button", name="Drop").click()
    expect(page.locator("[data-flash]")).to_contain_text("Drop: 1 chunk.")


def handle_chunks(page: Page) -> None:
    """Another user retries chunk 3, and it is done."""
    from queueops import control

    assert control.retry_chunks("doubles", [3]).changed == 1
    run_worker()
    tick(page)


def test_all_of_it_works_without_scripts(open_chunks: Open, handle: TaskHandle[int]) -> None:
    page = open_chunks("mapreduce/doubles/", java_script_enabled=False)
    page.get_by_role("button", name="Open").click()
    expect(page.locator("h1")).to_have_text("Chunk 0")
    page.goto("/ops/mapreduce/doubles/")
    page.get_by_role("button", name="Retry 3 failed chunks").click()
    expect(page.locator("[data-flash]")).to_contain_text("Retry: 3 chunks.")


def test_a_strip_of_few_and_of_many_breaks_no_rule(open_chunks: Open, handle: TaskHandle[int]) -> None:
    from tests.console.test_accessibility import broken

    Doubles.using(id="many").push(1200)
    run_worker(until_idle=False)
    page = open_chunks("mapreduce/doubles/")
    for path in ("doubles/", "many/", "many/?first=200&count=500", "many/?state=all", "doubles/3/", "doubles/3/edit/"):
        page.goto(f"/ops/mapreduce/{path}")
        assert broken(page) == [], path
