"""The list of tasks in a browser: many tasks in the stand-in, and what the page shows of them."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.console.standin import World


def many(world: World, count: int = 40) -> None:
    """A long list, the newest first."""
    world.states = {f"task-{number}": "failed" for number in range(count)}
    world.entered = {f"task-{number}": 10_000 - number for number in range(count)}


def rows(page: Page) -> list[str]:
    found: list[str] = page.eval_on_selector_all("#rows tbody tr", "rows => rows.map(row => row.id)")
    return found


def ticked(page: Page) -> list[str]:
    found: list[str] = page.eval_on_selector_all(".tick:checked", "boxes => boxes.map(box => box.value)")
    return found


def heights(page: Page) -> list[list[float]]:
    """Place and height of each row."""
    found: list[list[float]] = page.eval_on_selector_all(
        "#rows tbody tr", "rows => rows.map(row => [row.getBoundingClientRect().top, row.offsetHeight])"
    )
    return found
