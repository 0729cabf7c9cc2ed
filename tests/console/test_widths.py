"""Every list fits a screen of any width: nothing is cut off at the right, and no row is a column of letters."""

from __future__ import annotations

from typing import Any

import pytest

from console.ui import json_text
from tests.console.browsing import Open
from tests.console.standin import World

WIDTHS = {360: 480, 641: 240, 768: 240, 1024: 160, 1200: 160, 1440: 160}
"""The width of the window, and the height in px that a row has at most."""
LISTS = ("", "tasks/", "errors/", "workflows/", "schedules/", "lanes/", "workers/", "registry/", "commands/", "audit/",
         "aggregations/", "callbacks/", "files/", "api-tokens/", "mapreduce/", "tasks/task-1/")  # fmt: skip
OF_SIX = ("errors/", "registry/")
"""Lists whose cards have six fields: at these widths all in one line, each below the same one of the card above."""
LINES = """() => [...document.querySelectorAll("main .cards tbody tr")].flatMap(row => {
  const cells = [...row.querySelectorAll("td[data-label]")].filter(each => each.textContent.trim());
  const tops = new Set(cells.map(each => Math.round(each.getBoundingClientRect().top)));
  const last = cells.at(-1);
  return [`${tops.size} lines`, `${last.dataset.label} at ${Math.round(last.getBoundingClientRect().left)}`];
})"""
FOUND = """() => {
  const seen = each => each.checkVisibility() && !each.closest("details:not([open])");
  const rows = [...document.querySelectorAll("main tbody tr")].filter(seen);
  const tables = [...document.querySelectorAll("main .scroll")].filter(seen);
  return {
    page: document.documentElement.scrollWidth - innerWidth,
    hidden: Math.max(0, ...tables.map(each => each.scrollWidth - each.clientWidth)),
    row: Math.max(0, ...rows.map(each => each.getBoundingClientRect().height)),
  };
}"""


@pytest.mark.browser
@pytest.mark.django_db
def test_no_list_is_cut_off_and_no_row_is_high(open_page: Open, world: World) -> None:
    world.lane = "to:shop.invalid:34281"
    world.states |= {f"as-{state}": state for state in ("locked", "succeeded", "failed", "postponed")}
    wrong: dict[str, Any] = {}
    for language in ("en", "de"):
        page = open_page("", locale=language)
        for path in LISTS:
            page.goto(f"/ops/{path}")
            page.locator("#history-values").evaluate_all("all => all.forEach(each => each.open = true)")
            for width, highest in WIDTHS.items():
                page.set_viewport_size({"width": width, "height": 900})
                found = page.evaluate(FOUND)
                if found["page"] > 0 or found["row"] > highest or (width > 640 and found["hidden"] > 1):
                    wrong[f"{path} {width} {language}"] = found
                if path in OF_SIX and 640 < width < 992 and len(lines := set(page.evaluate(LINES))) != 2:
                    wrong[f"cards of {path} {width} {language}"] = lines
    assert wrong == {}, "\n".join(f"{where}: {what}" for where, what in wrong.items())


def test_a_document_of_many_lines_is_cut_and_says_how_many_are_left_out() -> None:
    document = "{\n" + "\n".join(f'  "key{number}": 1,' for number in range(20_000)) + "\n}"
    page = str(json_text.coloured(document))
    assert page.count("<span") < 2_000
    assert page.endswith('<span class="json-cut">\n… 19,602 more lines</span>')
    assert "more" not in str(json_text.coloured("\n".join("1" * 400)))
