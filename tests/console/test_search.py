"""A search that no index holds goes on by itself, within sight, and says how far it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.test import Client
from playwright.sync_api import expect

from queueops import inspect
from queueops.inspect import TaskQuery
from queueops.model.contracts import Outcome, RoundTrip, Settlement
from queueops.redis.broker import get_broker
from tests.console.browsing import Open, browsing, serving
from tests.kernel.desk import make

pytestmark = pytest.mark.django_db
MANY = 9_000
PARTS = (("states", "</nav>"), ("facets", "<div id="))
"""What shows the counts by state and by all else, with what ends it."""


@pytest.fixture
def haystack(namespace: str) -> None:
    """Three failed tasks of the lane `bulk`, the oldest ones, behind 9,000 others; one at the head of the list."""
    fail("needle", 3, "bulk")
    fail("hay", MANY, "default")


@pytest.fixture
def open_real(namespace: str, db: None) -> Iterator[Open]:
    """Opens pages of the console, behind which the real engine is."""
    with serving() as url, browsing(url) as opened:
        yield opened


def plain(text: str) -> str:
    """The text with plain spaces."""
    return " ".join(text.split())


def fail(name: str, count: int, lane: str) -> None:
    broker = get_broker()
    for start in range(0, count, 1000):
        numbers = range(start, min(count, start + 1000))
        broker.push([make(f"{name}-{number:05}", lane=lane) for number in numbers])
        leases = broker.exchange("default", "w1", RoundTrip(want=len(numbers))).leases
        ends = [Settlement(lease.id, lease.fence, Outcome.ERROR, b"{}", delay_ms=-1) for lease in leases]
        for first in range(0, len(ends), 200):
            broker.exchange("default", "w1", RoundTrip(settle=ends[first : first + 200]))


@pytest.mark.usefixtures("haystack")
def test_a_step_of_a_search_is_bounded_and_leads_to_the_next_match() -> None:
    query = TaskQuery(state="failed", lane="bulk")
    page = inspect.tasks(query)
    assert (page.rows, page.partial, page.seen, page.total) == ((), True, 1000, MANY + 3)
    step = inspect.search(query, page.next)
    assert (step.match, step.seen, step.total) == ("", 4000, MANY + 3)
    for _ in range(5):
        step = inspect.search(query, step.next) if not step.match else step
    assert step.match
    assert len(inspect.tasks(query, step.match).rows) == 3


@pytest.mark.usefixtures("haystack")
def test_the_list_contradicts_itself_no_more_and_names_what_is_not_counted(operator: Client) -> None:
    shown = plain(operator.get("/ops/tasks/?lane=bulk&state=failed").content.decode())
    assert "0 found in the first 1,000 of 9,003. The search goes on." in shown
    assert "No task matches" not in shown
    assert "stopped" not in shown
    assert "<b>3</b> tasks" in shown
    answer = operator.get(re.findall(r'hx-get="(/ops/tasks/_search[^"]+)"', shown)[0].replace("&amp;", "&"))
    assert "0 found in the first 5,000 of 9,003." in plain(answer.content.decode())


@pytest.mark.usefixtures("haystack")
def test_a_list_that_no_counter_knows_says_so(operator: Client) -> None:
    shown = plain(operator.get("/ops/tasks/?lane=bulk&state=failed&name=tests.noop").content.decode())
    assert "Number unknown: 9,003 at most" in shown
    chips, facets = (shown.partition(f'id="{part}"')[2].partition(end)[0] for part, end in PARTS)
    for part, key in ((chips, "failed"), (facets, "task")):
        value = part.partition(f'data-key="{key}"')[2].partition("</a>")[0]
        assert "not counted with this filter" in value, key


@pytest.mark.browser
@pytest.mark.usefixtures("haystack")
def test_the_browser_searches_on_and_arrives_at_the_match(open_real: Open) -> None:
    page = open_real("tasks/?lane=bulk&state=failed")
    expect(page.locator("#rows tbody tr")).to_have_count(3, timeout=60_000)
    assert "3 found. All 9,003 were searched." in plain(page.locator("#search").inner_text())
    assert plain(page.locator("#rows .card-head").inner_text()).startswith("3 tasks")


@pytest.mark.browser
@pytest.mark.usefixtures("haystack")
def test_without_scripts_a_link_continues_the_search(open_real: Open) -> None:
    page = open_real("tasks/?lane=bulk&state=failed", java_script_enabled=False)
    for _ in range(9):
        if page.locator("#rows tbody tr").count():
            break
        page.get_by_role("link", name="Continue from here").click()
    expect(page.locator("#rows tbody tr")).to_have_count(3)
