"""What pages show of unusual values: control characters, long names, ids in sentences, refusals, and no failures."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client
from msgspec.structs import replace

from console.ui.linked_ids import linked
from queueops import inspect
from queueops.inspect import LanePage, LaneRow
from queueops.model.ids import new_id
from tests.console.browsing import Open
from tests.console.standin import World

pytestmark = pytest.mark.django_db


def test_control_characters_are_written_out(world: World, operator: Client) -> None:
    world.text = "red \x1b[31m, bell \x07, delete \x7f, next \x85"
    for path in ("tasks/", "tasks/task-1/", "tasks/task-1/log/", "errors/", "workers/", ""):
        page = operator.get(f"/ops/{path}").content.decode()
        assert r"red \u001b[31m, bell \u0007, delete \u007f, next \u0085" in page, path
        assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", page), path


def test_a_task_without_a_failure_has_no_number_under_failed(world: World, operator: Client) -> None:
    cell = re.compile(r'tries-cell[ a-z]*" data-label="Failed">([^<]*)')
    whole = world.row
    assert {text.strip() for text in cell.findall(operator.get("/ops/tasks/").content.decode())} == {"1 of 3"}
    world.row = lambda id: replace(whole(id), attempt=0)  # type: ignore[method-assign]
    assert {text.strip() for text in cell.findall(operator.get("/ops/tasks/").content.decode())} == {"–"}


def test_a_time_is_ahead_or_behind(world: World, operator: Client) -> None:
    page = operator.get("/ops/schedules/").content.decode()
    ahead = re.findall(r'data-label="Next tick"><time[^>]*>([^<]*)', page)
    behind = re.findall(r'data-label="Last result">.*?<time[^>]*>([^<]*)', page, re.DOTALL)
    assert [text[:3] for text in ahead] == ["in "] * len(ahead) != []
    assert [text[-4:] for text in behind] == [" ago"] * len(behind) != []


def test_a_refusal_leads_to_no_page_that_is_refused_too(world: World, client_of: Callable[..., Client]) -> None:
    page = client_of().get("/ops/tasks/")
    assert page.status_code == 403
    main = page.content.decode().partition("<main")[2].partition("</main>")[0]
    assert "To the overview" not in main
    assert 'action="/ops/logout/"' in main
    page = client_of("viewers").get("/ops/tasks/task-1/raw/")
    assert page.status_code == 403
    assert "To the overview" in page.content.decode()


def test_ids_in_sentences_are_links() -> None:
    id = new_id()
    assert linked(f"its part {id} failed & <b>") == (
        f'its part <a href="/ops/find/?q={id}">{id}</a> failed &amp; &lt;b&gt;'
    )
    assert linked(f"{id}#17 failed") == f'<a href="/ops/find/?q={id}%2317">{id}#17</a> failed'
    assert linked("order-17", "order-17") == '<a href="/ops/find/?q=order-17">order-17</a>'
    assert linked(f"https://host/{id} x{id} {id}X order-17") == f"https://host/{id} x{id} {id}X order-17"


def test_a_finding_and_a_reason_link_the_tasks_they_name(world: World, operator: Client) -> None:
    world.text = f"waits for {new_id()}"
    page = operator.get("/ops/tasks/task-1/why/").content.decode()
    assert len(re.findall(r'waits for <a href="/ops/find/\?q=\w{26}">', page)) >= 3


def test_a_state_has_one_word_in_rows_chips_and_the_diagram(
    world: World, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.states |= {"a": "locked", "b": "restart"}
    monkeypatch.setattr(inspect, "facets", lambda query: {"state": [("locked", 1), ("restart", 1)]})
    page = operator.get("/ops/tasks/").content.decode() + operator.get("/ops/").content.decode()
    words = re.sub(r"<[^>]+>", " ", page)
    assert {word: word in words for word in ("running", "locked", "restart", "retrying")} == {
        "running": True,
        "locked": False,
        "restart": True,
        "retrying": False,
    }


WIDER = """() => [...document.querySelectorAll("main .scroll")]
    .filter((part) => part.scrollWidth > part.clientWidth + 1).map((part) => part.id)"""
HINTS = """() => [...document.querySelectorAll("main .scroll")]
    .filter((part) => part.scrollWidth > part.clientWidth + 1)
    .map((part) => [getComputedStyle(part).backgroundImage.includes("gradient"), getComputedStyle(part).overflowX])"""


@pytest.mark.browser
def test_a_lane_of_a_hundred_characters_fits_into_its_table(
    open_page: Open, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [LaneRow(pool="p" * 100, lane="l" * 100, ready=3, active=1, limit=2, oldest_ms=world.now - 5000)]
    snapshot = replace(world.snapshot(), lanes=tuple(rows))
    monkeypatch.setattr(inspect, "snapshot", lambda _age: snapshot)
    monkeypatch.setattr(inspect, "lane_page", lambda **_: LanePage(rows=tuple(rows)))
    page = open_page("")
    for width in (1360, 1024):
        page.set_viewport_size({"width": width, "height": 900})
        assert "lanes-scroll" not in page.evaluate(WIDER), width
    page.set_viewport_size({"width": 1360, "height": 900})  # the forms of the limits need it, whatever the names are
    page.goto("/ops/lanes/")
    assert "lanes-scroll" not in page.evaluate(WIDER)


@pytest.mark.browser
def test_a_table_that_goes_on_beside_a_phone_says_so(open_page: Open, world: World) -> None:
    page = open_page("", viewport={"width": 360, "height": 740})
    hints = page.evaluate(HINTS)
    assert hints
    assert all(hint == [True, "auto"] for hint in hints)
