"""The pages of jobs in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from queueops import inspect, jobs
from tests.console.browsing import Open, browsing, serving

pytestmark = [pytest.mark.browser, pytest.mark.django_db]
INSIDE = """item => {
    const table = item.closest(".scroll").getBoundingClientRect(), at = item.getBoundingClientRect();
    return at.left >= table.left && at.right <= table.right && at.bottom <= table.bottom;
}"""


@pytest.fixture
def open_jobs(namespace: str, db: None, settings: Any) -> Iterator[Open]:
    """Opens pages of the console, behind which the real engine is."""
    Path(settings.STATIC_ROOT).mkdir(exist_ok=True)  # WhiteNoise warns if it is not there
    with serving() as url, browsing(url) as opened:
        yield opened


def test_the_menu_of_the_only_aggregation_is_not_cut_off(open_jobs: Open) -> None:
    jobs.submit(aggregation="shop 7", handler="work", delay=999)
    page = open_jobs("aggregations/")
    for width in (1280, 768, 360):
        page.set_viewport_size({"width": width, "height": 800})
        page.goto("/ops/aggregations/")
        page.locator("tr[data-row] summary", has_text="More").click()
        items = page.locator("tr[data-row] .menu-item")
        expect(items).to_have_count(3)
        assert [item.evaluate(INSIDE) for item in items.all()] == [True] * 3, width
        items.filter(has_text="Drain").click()
        expect(page.get_by_role("button", name="Drain")).to_be_visible()
    page.get_by_role("button", name="Drain").click()
    expect(page.get_by_text("draining")).to_be_visible()
    assert inspect.aggregation("shop 7").draining
