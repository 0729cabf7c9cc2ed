"""The console in a real browser: living pages keep one's place, keys work, all of it works without JavaScript."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.browsing import Open, tick
from tests.console.listed import many, ticked
from tests.console.standin import World

pytestmark = [pytest.mark.browser, pytest.mark.django_db]


def test_what_is_open_stays_open_while_a_task_lives(open_page: Open, world: World) -> None:
    page = open_page("tasks/task-1/attempts/")
    frames = page.locator(".traceback details").first
    frames.locator("summary").click()
    page.locator("#action-keep > summary").click()
    page.locator("#action-keep input[type=number]").fill("33")
    world.states["task-1"] = "cancelled"
    tick(page, 3)
    expect(page.locator(".task-state .state")).to_have_text("cancelled")
    expect(frames).to_have_attribute("open", "")
    expect(page.locator("#action-keep")).to_have_attribute("open", "")
    expect(page.locator("#action-keep input[type=number]")).to_have_value("33")


def test_a_branch_that_was_opened_or_shut_stays_so_while_the_tree_lives(open_page: Open, world: World) -> None:
    page = open_page("tasks/task-1/children/")
    branch = page.locator("details.branch").first
    summary = branch.locator("summary").first
    expect(branch).not_to_have_attribute("open", "")  # it is a large one
    summary.focus()
    page.keyboard.press("Enter")
    for number in range(3):
        world.text = f"name-{number}"
        tick(page)
    expect(branch).to_have_attribute("open", "")
    expect(branch.locator(".node-name a").first).to_have_text("name-2")
    expect(summary).to_be_focused()
    page.keyboard.press("Enter")
    world.text = "name-3"
    tick(page)
    expect(branch).not_to_have_attribute("open", "")


@pytest.mark.parametrize("scripts", [True, False])
def test_a_part_is_acted_on_from_the_tree(scripts: bool, open_page: Open, world: World) -> None:
    page = open_page("tasks/task-1/children/", java_script_enabled=scripts)
    page.locator(".tree-top > li > .node > .node-menu > summary").nth(1).click()
    page.locator(".node-menu[open]").get_by_role("button", name="Run now").click()
    expect(page.locator("[data-flash]")).to_contain_text("Run now: 1 task.")
    assert page.url.endswith("/ops/tasks/task-1/children/?pool=default")
    assert [(verb, what[0]) for verb, what in world.calls] == [("run_now", ["a/b:c"])]


def test_keys_move_through_a_tree(open_page: Open, world: World) -> None:
    page = open_page("tasks/task-1/children/")
    for key in ("j", "j", "j", "k"):
        page.keyboard.press(key)
    address = page.evaluate("document.activeElement.getAttribute('href')")
    assert address == "/ops/tasks/a~b:c/?pool=default"


def requests(page: Page) -> list[str]:
    found: list[str] = []
    page.on("request", lambda request: found.append(request.url) if "/_" in request.url else None)
    return found


def test_the_ticker_asks_by_itself_and_waits_while_the_user_is_busy(open_page: Open, world: World) -> None:
    page = open_page("tasks/")
    page.context.add_cookies([{"name": "queueops_pace", "value": "1", "url": page.url}])
    page.reload()
    asked = requests(page)
    patience(page, lambda: len(asked) >= 2)
    page.evaluate("getSelection().selectAllChildren(document.querySelector('#rows tbody th'))")
    assert settled(page, asked)
    page.evaluate("getSelection().removeAllRanges()")
    patience(page, lambda: len(asked) >= 1)
    page.keyboard.press("?")
    assert settled(page, asked)
    page.keyboard.press("Escape")
    patience(page, lambda: len(asked) >= 1)
    page.keyboard.press("r")
    expect(page.locator("#live")).to_have_attribute("aria-pressed", "false")
    expect(page.locator("#announcer")).to_have_text("Live updates are off")
    assert settled(page, asked)
    page.reload()
    expect(page.locator("#live")).to_have_attribute("aria-pressed", "false")
    page.locator("#live").click()
    patience(page, lambda: len(asked) >= 1)


def patience(page: Page, predicate: Any) -> None:
    """Let the browser go on until something is so."""
    for _ in range(600):
        if predicate():
            return
        page.wait_for_timeout(100)
    raise AssertionError("it did not happen")


def settled(page: Page, asked: list[str]) -> bool:
    """Whether nothing is asked for in the time of two ticks; a slow machine may need some before it is so."""
    page.wait_for_timeout(300)
    for _ in range(4):
        asked.clear()
        page.wait_for_timeout(2500)
        if not asked:
            return True
    return False


def test_an_outage_is_told_and_its_end_too(open_page: Open, world: World) -> None:
    page = open_page("")
    world.down = True
    tick(page, 2)
    expect(page.locator("#stale")).to_be_visible()
    expect(page.locator(".machine-wide")).to_be_visible()
    world.down = False
    tick(page)
    expect(page.locator("#stale")).to_be_hidden()


def test_keys_lead_everywhere(open_page: Open, world: World) -> None:
    page = open_page("")
    page.keyboard.press("/")
    expect(page.locator("#find")).to_be_focused()
    page.keyboard.type("g t ? x")
    expect(page.locator("#find")).to_have_value("g t ? x")
    page.locator("#find").blur()
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("t")
    page.wait_for_url("**/ops/tasks/")
    for key in ("j", "j", "x", "j", "k"):
        page.keyboard.press(key)
    assert len(ticked(page)) == 1
    address = page.evaluate("document.activeElement.getAttribute('href')")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{address}")


def test_keys_can_be_turned_off(open_page: Open, world: World) -> None:
    page = open_page("")
    page.context.add_cookies([{"name": "queueops_keys", "value": "off", "url": page.url}])
    page.reload()
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_hidden()


def test_a_range_is_ticked_with_shift_and_a_page_with_one_box(open_page: Open, world: World) -> None:
    many(world, 8)
    page = open_page("tasks/?state=failed")
    page.locator(".tick").nth(5).click()
    page.locator(".tick").nth(2).click(modifiers=["Shift"])
    assert len(ticked(page)) == 4
    assert page.locator("#tick-all").evaluate("box => box.indeterminate")
    page.locator("#tick-all").check()
    assert len(ticked(page)) == 8
    page.get_by_role("button", name="Retry").click()
    expect(page.get_by_role("status").first).to_contain_text("Retry: 8 tasks.")
    expect(page.locator("[data-flash]")).to_be_focused()
    page.goto("/ops/audit/?verb=retry")
    expect(page.locator("tbody tr")).to_have_count(1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_of_the_system_is_there_before_the_first_paint(scheme: Any, open_page: Open, world: World) -> None:
    page = open_page("settings/", color_scheme=scheme)
    page.add_init_script(
        "window.seen = [];"
        "new MutationObserver(() => document.body && seen.push(document.documentElement.dataset.bsTheme))"
        ".observe(document, {childList: true, subtree: true});"
    )
    page.reload()
    assert set(page.evaluate("window.seen")) == {scheme}
    page.get_by_label("dark" if scheme == "light" else "light", exact=True).check()
    page.get_by_role("button", name="Save settings").click()
    other = "dark" if scheme == "light" else "light"
    expect(page.locator("html")).to_have_attribute("data-bs-theme", other)


def test_all_of_it_works_without_javascript(open_page: Open, world: World) -> None:
    many(world, 3)
    world.states["task-2"] = "pending"
    page = open_page("tasks/?state=failed", logged_in=False, java_script_enabled=False)
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill("correct horse")
    page.get_by_role("button", name="Log in").click()
    assert page.url.endswith("/ops/tasks/?state=failed")
    page.locator(".tick").nth(0).check()
    page.get_by_role("button", name="Delete").click()
    expect(page.locator("[data-flash]")).to_contain_text("Delete: 1 task.")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("[data-flash]")).to_contain_text("Undone: 1 task.")
    page.locator("[data-open]").first.click()
    page.get_by_role("link", name="Attempts").click()
    expect(page.get_by_role("heading", name="Attempt 1")).to_be_visible()
    page.locator("#action-keep > summary").click()
    page.locator("#action-keep input[type=number]").fill("7")
    page.locator("#action-keep button").click()
    expect(page.locator("[data-flash]")).to_contain_text("Keep longer: 1 task.")
    page.get_by_role("link", name="Edit and retry").click()
    page.get_by_label("Positional arguments").fill("[")
    page.get_by_role("button", name="Save and retry").click()
    expect(page.get_by_role("alert")).to_contain_text("This is not JSON")
    page.get_by_label("Positional arguments").fill("[1]")
    page.get_by_role("button", name="Save and retry").click()
    expect(page.locator("[data-flash]")).to_contain_text("1 task")
    page.get_by_role("link", name="Lanes").click()
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("[data-flash]")).to_be_visible()
    page.locator("#lanes-scroll tbody th a").last.click()
    page.locator("input[name=limit]").fill("5")
    page.get_by_role("button", name="Set", exact=True).click()
    page.get_by_role("link", name="Audit log").click()
    expect(page.locator("tbody tr")).to_have_count(6)
    page.get_by_role("button", name="Switch the theme").click()
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "light")
    page.locator(".top details.menu > summary").click()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    assert [verb for verb, _ in world.calls] == ["delete", "restore", "keep", "edit", "resume_lane", "set_lane"]


def test_the_list_is_filtered_without_javascript(open_page: Open, world: World) -> None:
    page = open_page("tasks/", java_script_enabled=False)
    for width in (1280, 360):
        page.set_viewport_size({"width": width, "height": 800})
        page.goto("/ops/tasks/")
        expect(page.locator(".facets-fold > summary")).to_be_visible(visible=width < 992)
        page.locator("#filter").fill("name:demo.task")
        page.get_by_role("button", name="Search").click()
        assert page.url.endswith("/ops/tasks/?q=name%3Ademo.task"), width


def test_nothing_is_cut_off_on_a_phone(open_page: Open, world: World) -> None:
    world.text = "a_name_that_is_as_long_as_a_telephone_is_wide_and_longer"
    page = open_page("tasks/task-1/", viewport={"width": 360, "height": 740})
    page.get_by_role("button", name="Retry").click()
    for path in (
        "audit/",
        "lanes/",
        "tasks/",
        "tasks/task-1/timeline/",
        "workers/",
        "registry/",
        "registry/demo.task/",
        "lanes/default/slow/",
        "workers/host:1/",
        "audit/1/",
    ):
        page.goto(f"/ops/{path}")
        assert page.evaluate(CUT_OFF) == [], path
        assert page.evaluate(TOUCHING) == [], path


WIDER = """[...document.querySelectorAll('main .scroll')]
    .filter(each => !each.closest('details:not([open])') && each.scrollWidth > each.clientWidth)
    .map(each => `${each.id}: ${each.scrollWidth} in ${each.clientWidth}`)"""


def test_no_table_of_the_overview_is_cut_off_on_a_small_screen(open_page: Open, world: World) -> None:
    page = open_page("", viewport={"width": 1440, "height": 900})
    for width in (1440, 1411, 1410, 1366, 1280, 1251, 1250, 1100, 1024, 992):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(WIDER) == [], width


def test_the_state_machine_stays_folded_in_the_next_visit(open_page: Open, world: World) -> None:
    page = open_page("")
    page.locator("#machine > summary").click()
    expect(page.locator("#machine .machine-wide")).to_be_hidden()
    page.evaluate("htmx.trigger(document.body, 'ops:tick')")
    page.reload()
    expect(page.locator("#machine .machine-wide")).to_be_hidden()
    page.locator("#machine > summary").click()
    page.reload()
    expect(page.locator("#machine .machine-wide")).to_be_visible()


def test_what_stands_below_a_figure_is_not_cut_off(open_page: Open, world: World) -> None:
    page = open_page("")
    below = page.locator(".figure-more", has_text="chunks")
    assert below.count() == 2
    fits = "all => all.every(each => [each, each.parentElement].every(one => one.scrollWidth <= one.clientWidth))"
    for width in (360, 992, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert below.evaluate_all(fits), width


CUT_OFF = """() => [...document.querySelectorAll("main :is(.cards, .tasks, .facts) :is(th, td, dd, input, button)")]
    .filter((part) => part.getClientRects().length && !part.closest("thead"))
    .filter((part) => part.getBoundingClientRect().right > part.closest(".card").getBoundingClientRect().right
        || (part.scrollWidth > part.clientWidth + 1 && getComputedStyle(part).overflowX === "visible"))
    .map((part) => part.outerHTML.slice(0, 90))"""
TOUCHING = """() => [...document.querySelectorAll(".tasks .tries-cell")]
    .filter((tries) => {
        const text = document.createRange(), since = tries.closest("tr").lastElementChild.querySelector("time, *");
        text.selectNodeContents(tries);
        const beside = since?.getBoundingClientRect(), told = text.getBoundingClientRect();
        return since && beside.top < told.bottom && told.right + 4 > beside.left;
    }).map((tries) => tries.textContent)"""


def test_hostile_text_stays_text_in_the_browser(open_page: Open, world: World) -> None:
    world.text = "<img src=x onerror=\"document.title='born'\"><script>document.title='born'</script>{{7*7}}"
    page = open_page("tasks/")
    for path in ("tasks/", "tasks/task-1/", "tasks/task-1/log/", "errors/", "workers/", ""):
        page.goto(f"/ops/{path}")
        tick(page)
        world.now += 1
        tick(page)
        assert page.title() != "born"
        assert page.locator("main img").count() == 0


def test_a_changed_field_holds_its_part_of_the_page_and_the_button_says_so(open_page: Open, world: World) -> None:
    page = open_page("aggregations/")
    page.context.add_cookies([{"name": "queueops_pace", "value": "1", "url": page.url}])
    page.reload()
    live, limit = page.locator("#live"), page.locator("[data-live] input[name=limit]").first
    form = page.locator("[data-live] summary.flush").first
    expect(live).to_have_text("Live")
    form.click()
    limit.fill("7")
    form.click()
    expect(live).to_have_text("Held")
    expect(live).to_have_attribute("title", "Live updates are held in a part of the page: a field is being edited.")
    asked = requests(page)
    patience(page, lambda: sum("_status" in each for each in asked) >= 2)
    assert not any("aggregations/_rows" in each for each in asked)
    form.click()
    limit.fill(limit.get_attribute("value") or "")
    form.click()
    expect(live).to_have_text("Live")
    patience(page, lambda: any("aggregations/_rows" in each for each in asked))
    page.evaluate("getSelection().selectAllChildren(document.querySelector('main tbody th'))")
    expect(live).to_have_attribute("title", "Live updates are held: text is selected.")
