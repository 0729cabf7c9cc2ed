"""Screens of 1,920 px: no third of a page is empty; and a stuck state is told on the overview."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from console.diagram.machine import draw
from console.diagram.stuck import stuck_states
from queueops import inspect
from queueops.inspect import Alarm
from tests.console.browsing import Open
from tests.console.standin import World

WIDE = {"width": 1920, "height": 1080}
USED = """() => {
  const main = document.querySelector('main').getBoundingClientRect();
  const kinds = ['.card', '.figures', 'table', '.chips', 'form', 'h1', 'svg'].map(each => `main ${each}`).join();
  const boxes = [...document.querySelectorAll(kinds)]
    .map(each => each.getBoundingClientRect()).filter(each => each.width && each.height);
  const bottom = Math.max(...boxes.map(each => each.bottom)), top = Math.min(...boxes.map(each => each.top));
  return [0, 1, 2].map(third => {
    const x = main.left + main.width * (third + .5) / 3;
    let covered = 0;
    for (let y = top; y < bottom; y += 4)
      covered += boxes.some(each => each.left <= x && x <= each.right && each.top <= y && y <= each.bottom);
    return covered * 4 / (bottom - top);
  });
}"""
"""How much of the height of each third of the page something fills."""


@pytest.mark.browser
@pytest.mark.django_db
def test_no_third_of_a_page_is_empty(open_page: Open) -> None:
    page = open_page("", viewport=WIDE)
    found: dict[str, Any] = {}
    for path in ("", "settings/", "workers/", "commands/", "audit/", "lanes/", "errors/"):
        page.goto(f"/ops/{path}")
        found[path] = [round(each, 2) for each in page.evaluate(USED)]
    assert {path: used for path, used in found.items() if min(used) < 0.6} == {}


@pytest.mark.browser
@pytest.mark.django_db
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_stuck_state_is_red_and_says_so_and_empty_ones_are_faded(
    open_page: Open, world: World, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    now = inspect.snapshot()
    pools = tuple(replace(pool, oldest_pending_ms=now.taken_ms - 600_000) for pool in now.pools)
    stuck = replace(now, pools=pools, states={"pending": 7}, flows={"locked>succeeded": 1.0}, version="stuck")
    monkeypatch.setattr(inspect, "snapshot", lambda _age: stuck)
    page = open_page("", viewport=WIDE, color_scheme=scheme)
    box = page.locator(".machine-wide .box-stuck")
    assert (box.get_attribute("aria-label") or "").startswith(
        "pending: 7. stuck: No task is started. The first one waits"
    )
    assert box.locator(".box-word-stuck").is_visible()
    red = page.evaluate("getComputedStyle(document.querySelector('.machine-wide .box-stuck rect')).stroke")
    assert red == page.evaluate("getComputedStyle(document.querySelector('.machine-wide .box-word-stuck')).fill")
    silent = page.locator(".machine-wide .way-0").first
    assert float(silent.evaluate("each => getComputedStyle(each).opacity")) <= 0.3
    assert (
        page.locator(".machine-wide .box-empty .box-icon").first.evaluate("e => getComputedStyle(e).opacity") == "0.5"
    )


def test_a_state_is_stuck_if_nothing_leaves_it(world: World) -> None:
    now = inspect.snapshot()
    pools = tuple(replace(pool, oldest_pending_ms=now.taken_ms - 61_000) for pool in now.pools)
    waits = replace(now, pools=pools, states={"pending": 7, "locked": 2}, flows={}, alarms=())
    assert list(stuck_states(waits)) == ["pending"]
    assert stuck_states(replace(waits, flows={"pending>locked": 0.1})) == {}
    fresh = tuple(replace(pool, oldest_pending_ms=now.taken_ms - 59_000) for pool in now.pools)
    assert stuck_states(replace(waits, pools=fresh)) == {}
    hanging = replace(waits, alarms=(Alarm(level="danger", text="x", key="stuck default"),))
    assert sorted(stuck_states(hanging)) == ["locked", "pending"]
    (wide, _) = draw(waits.states, waits.flows, stuck_states(waits))
    assert [box.state for box in wide.boxes if box.stuck] == ["pending"]
