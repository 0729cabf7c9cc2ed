"""The state diagram in a browser: its labels can be read on a screen and on a telephone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from queueops.model.contracts import Outcome
from queueops.redis.broker import get_broker
from tests.console.browsing import Open, browsing, serving
from tests.kernel.desk import Desk

pytestmark = pytest.mark.browser

LEAST_PX = 11
DRAWN = """() => [...document.querySelectorAll('svg.machine text, svg.machine tspan')]
    .filter((text) => text.getClientRects().length)
    .map((text) => [text.textContent.trim(), parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a])"""
BEYOND = """() => [...document.querySelectorAll('svg.machine .box')]
    .filter((box) => box.getClientRects().length && [...box.querySelectorAll('text')].some(
        (text) => text.getBoundingClientRect().right > box.querySelector('rect').getBoundingClientRect().right))
    .map((box) => box.textContent.trim())"""


@pytest.fixture
def open_real(namespace: str, db: None) -> Iterator[Open]:
    desk = Desk(get_broker())
    desk.push("done", retries=1)
    desk.settle(desk.lease(), Outcome.ERROR, b"{}")
    desk.tick()
    desk.push("runs", "waits")
    done, _ = desk.claim(2)
    assert desk.settle(done) == "OK"
    desk.push("late", delay_ms=60_000)
    desk.broker.draw("default", "watchdog", 60_000)
    with serving() as url, browsing(url) as opened:
        yield opened


def test_each_label_has_the_size_of_small_text_and_fits_into_its_box(open_real: Open) -> None:
    page = open_real()
    for path in ("/ops/", "/ops/tasks/done/"):
        page.goto(path)
        for width in (1280, 360):
            page.set_viewport_size({"width": width, "height": 900})
            drawn = page.evaluate(DRAWN)
            assert len(drawn) > 3, width
            assert [(text, round(size, 1)) for text, size in drawn if size < LEAST_PX] == [], width
            assert page.evaluate(BEYOND) == [], width
