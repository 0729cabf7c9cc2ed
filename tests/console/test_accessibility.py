"""No page breaks a rule of axe, in either theme, on a desk or on a phone; none is wider than the screen."""

from __future__ import annotations

from typing import Literal

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page, ViewportSize, expect

from console.models import AuditEntry
from tests.console.browsing import Open, tick
from tests.console.standin import World
from tests.console.walk import PAGES

pytestmark = [pytest.mark.browser, pytest.mark.django_db]
WHOLE = [one for one in PAGES if "/_" not in one.path]
PAST = [f"/ops/{page}?at=2026-01-01T03:12Z" for page in ("", "lanes/default/slow/", "registry/demo.task/")]
ADDRESSES = [one.path for one in WHOLE] + ["/ops/nothing/", "/ops/tasks/?state=failed", "/ops/audit/2/", *PAST]
DESK, PHONE = ViewportSize(width=1360, height=900), ViewportSize(width=360, height=740)
Scheme = Literal["light", "dark"]
WAYS: list[tuple[ViewportSize, Scheme]] = [(DESK, "light"), (DESK, "dark"), (PHONE, "dark"), (PHONE, "light")]
"""Each theme at each size, with as few changes as possible: each is a new layout of the page."""
REPORT = {"resultTypes": ["violations"], "selectors": False}
"""What `broken` reads: to name each element by a selector would take a fifth of the time."""
COLOURS = ["color-contrast", "link-in-text-block"]
"""These rules take three quarters of the time of all: `JUDGE` asks them about texts with a look that is new."""
OF_COLOURS = REPORT | {"resultTypes": ["violations", "passes"], "elementRef": True, "runOnly": COLOURS}
OTHERS = REPORT | {"rules": {rule: {"enabled": False} for rule in COLOURS}}
JUDGE = """async ([judged, options]) => {
  const known = new Set(judged), clear = "rgba(0, 0, 0, 0),none,1,none,normal";
  const short = (text) => [...text].reduce((sum, sign) => (sum * 31 + sign.charCodeAt()) % 281474976710597, 7);
  const paint = (style) =>
    [style.backgroundColor, style.backgroundImage, style.opacity, style.filter, style.mixBlendMode].join();
  const over = (one, other) =>
    one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
  const words = (each) =>
    [...each.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data).join("");
  const shown = [...document.querySelectorAll("html, body, body *")]
    .map((each) => [each, getComputedStyle(each), each.getBoundingClientRect()])
    .filter(([each, , box]) => box.width > 1 && each.checkVisibility());
  const painted = shown.map(([, style, box]) => [paint(style), box]).filter(([each]) => each !== clear);
  const looks = new Map();
  for (const [each, style, box] of shown) {
    const text = words(each);
    if (!text.trim() && !each.matches("input, select, textarea")) continue;
    const look = [each.tagName, each.matches(":disabled, :disabled *"), style.textDecorationLine, style.textShadow,
      style.color, style.fontSize, style.fontWeight, getComputedStyle(each.parentElement ?? each).color,
      ...painted.filter(([, at]) => over(at, box)).map(([each]) => each)].join("|");
    const [one, whole] = [short(look), short(look + text)];
    if (!known.has(one) && !known.has(whole)) looks.set(each, [one, whole]);
  }
  if (!looks.size) return [[], []];
  const { violations, passes } = await axe.run({ include: [...looks.keys()] }, options);
  const found = (rules) => new Set(rules.flatMap((rule) => rule.nodes).map((node) => node.element));
  const good = found(passes.filter((rule) => rule.id === "color-contrast")), bad = found(violations);
  const fine = [...looks].filter(([each]) => !bad.has(each));
  return [violations, fine.map(([each, [one, whole]]) => good.has(each) ? one : whole)];
}"""
"""Asks axe about the colours of texts with a new look: colours, font, and what is painted under and over the text.
A look that axe does not judge, as that of a single letter, is known with its text alone.
"""
EDITED = """() => [...document.querySelectorAll("[data-live] :is(input, select, textarea)")]
    .filter(held.edited).map((field) => `${field.name} holds the page`)"""
judged: set[int] = set()
"""The looks of texts that axe has judged in this process, on any page, in any theme, at any size."""


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
def test_no_page_breaks_a_rule_or_is_held_before_a_field_is_edited(addresses: list[str], page: Page) -> None:
    found: dict[str, list[str]] = {}
    live = 0
    for address in addresses:
        page.goto(address)
        found[address] = page.evaluate(EDITED)
        if page.locator("[data-live]").count():
            live += 1
            expect(page.locator("#live")).to_have_text("Live")
        if page.locator(".tick").count():
            page.locator(".tick").first.check()
        found[address] += broken(page)
    assert live > 5
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

    A theme changes the rules about colours alone: all others are asked once for each size.
    """
    found: list[str] = []
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    for size, scheme in WAYS:
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # a theme fades in otherwise
        page.evaluate("new Promise(requestAnimationFrame)")  # the page's own script has heard of it by then
        violations, looks = page.evaluate(JUDGE, [[*judged], OF_COLOURS])
        judged.update(looks)
        if scheme == "light":
            violations += page.evaluate("options => axe.run(options)", OTHERS)["violations"]
        found += [
            f"{scheme}, {size['width']}, {rule['id']}: {node['html'][:160]} ({node.get('failureSummary')})"
            for rule in violations
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
