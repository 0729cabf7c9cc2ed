"""No page breaks a rule of axe, in either theme, on a desk or on a phone; none is wider than the screen."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page, ViewportSize

from console.models import AuditEntry
from tests.console.browsing import Open, tick
from tests.console.standin import World
from tests.console.walk import PAGES

pytestmark = [pytest.mark.browser, pytest.mark.django_db]
WHOLE = [one for one in PAGES if "/_" not in one.path]
PAST = [f"/ops/{page}?at=2026-01-01T03:12Z" for page in ("", "lanes/default/slow/", "registry/demo.task/")]
ADDRESSES = [one.path for one in WHOLE] + ["/ops/nothing/", "/ops/tasks/?state=failed", "/ops/audit/2/", *PAST]
DESK, PHONE = ViewportSize(width=1360, height=900), ViewportSize(width=360, height=740)
END_TRANSITIONS = (
    "document.getAnimations().filter(each => each instanceof CSSTransition).forEach(each => each.finish())"
)
"""A theme fades in: on its way the colours have other contrasts."""
COLOURS = ["color-contrast", "link-in-text-block"]
REPORT = {"resultTypes": ["violations"], "selectors": False}
"""What `broken` reads: to name each element by a selector would take a fifth of the time."""
THEMES: dict[Literal["light", "dark"], dict[str, Any]] = {"light": REPORT, "dark": REPORT | {"runOnly": COLOURS}}


@pytest.fixture
def entry(db: None) -> None:
    """Something in the audit log."""
    AuditEntry.objects.create(
        pk=1, actor_name="ada", verb="retry", target="task-1", ids=[["default", "task-1"]], count=1, changed=1,
        before={"default task-1": {"state": "failed"}}, after={"default task-1": {"word": "OK", "state": "pending"}},
        outcome="done",
    ).tasks.create(pool="default", task_id="task-1")  # fmt: skip
    whole = AuditEntry.objects.create(
        pk=2, actor_name="ada", verb="retry", target="state=failed", filter={"state": "failed"}, count=900, seen=500,
        changed=500, place="x",
    )  # fmt: skip
    AuditEntry.objects.create(pk=3, actor_name="ada", verb="retry", target="500 tasks", count=500, part_of=whole)


@pytest.fixture
def page(entry: None, open_page: Open, world: World) -> Page:
    """One page for many addresses; nothing moves in it, so that a theme is there at once."""
    world.states |= {f"as-{state}": state for state in ("locked", "restart", "succeeded", "cancelled", "quarantined")}
    world.now -= 100_000  # longer in words than a name, and a link among words must be known by more than its colour
    return open_page("", reduced_motion="reduce")


@pytest.mark.parametrize("addresses", [ADDRESSES[number::4] for number in range(4)], ids=range(4))
def test_no_page_breaks_a_rule(addresses: list[str], page: Page) -> None:
    found: dict[str, list[str]] = {}
    for address in addresses:
        page.goto(address)
        if page.locator(".tick").count():
            page.locator(".tick").first.check()
        found[address] = broken(page)
    assert {place: rules for place, rules in found.items() if rules} == {}


def test_no_menu_and_no_question_breaks_a_rule(page: Page, world: World) -> None:
    found: dict[str, list[str]] = {}
    page.goto("/ops/tasks/task-1/")
    page.locator("#action-keep > summary").click()
    found["a menu"] = broken(page)
    page.goto("/ops/tasks/?state=failed")
    page.locator("#whole > summary").click()
    found["all that match"] = broken(page)
    page.locator("#whole").get_by_role("button", name="Delete").click()
    page.get_by_role("heading", name="the 1 task that matches").wait_for()
    found["the question"] = broken(page)
    page.goto("/ops/")
    page.keyboard.press("?")
    found["help"] = broken(page)
    page.keyboard.press("Escape")
    world.down = True
    tick(page, 2)
    found["stale"] = broken(page)
    assert {place: rules for place, rules in found.items() if rules} == {}


def test_the_pages_without_a_login_break_no_rule(open_page: Open, world: World) -> None:
    page = open_page("login/", logged_in=False)
    assert broken(page) == []
    page.get_by_label("Name").fill("x")
    page.get_by_label("Password").fill("x")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("alert").wait_for()
    assert broken(page) == []


def broken(page: Page) -> list[str]:
    """What is wrong with the page: wider than the screen, or a rule that it breaks, and where.

    All rules are asked for each size. A theme changes the rules about colours alone.
    """
    found: list[str] = []
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    for size in (DESK, PHONE):
        page.set_viewport_size(size)
        for scheme, options in THEMES.items():
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # a theme fades in otherwise
            page.evaluate("new Promise(requestAnimationFrame)")  # the page's own script has heard of it by then
            result = page.evaluate("options => axe.run(options)", options)
            found += [
                f"{scheme}, {size['width']}, {rule['id']}: {node['html'][:160]} ({node.get('failureSummary')})"
                for rule in result["violations"]
                for node in rule["nodes"][:3]
            ]
        if page.evaluate("document.documentElement.scrollWidth") > size["width"]:
            found.append(f"it is wider than {size['width']}")
    page.set_viewport_size(DESK)
    return found


PLANTED = {
    "light, 1360, color-contrast": "@media (prefers-color-scheme: light) { label { color: #ccc !important } }",
    "dark, 1360, color-contrast": "@media (prefers-color-scheme: dark) { label { color: #333 !important } }",
    "light, 360, color-contrast": "@media (max-width: 640px) { label { color: #999 !important } }",
    "dark, 360, color-contrast": "@media (max-width: 640px) { form { background: #888 !important } }",
    "light, 360, page-has-heading-one": "@media (max-width: 640px) { h1 { display: none } }",
    "it is wider than 360": "form { min-width: 400px }",
}


def test_a_fault_of_one_theme_or_of_one_width_is_found(open_page: Open) -> None:
    page = open_page("login/", logged_in=False)
    found = {}
    for fault, style in PLANTED.items():
        page.evaluate("s => document.adoptedStyleSheets = [new CSSStyleSheet()].map(e => (e.replaceSync(s), e))", style)
        found[fault] = [one[: len(fault)] for one in broken(page)]
    assert {fault for fault, ones in found.items() if fault not in ones} == set(), found
