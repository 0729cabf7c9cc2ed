"""The search line of tasks: one field for the whole filter, chips, completion, earlier texts, pasted ids."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.test import Client
from playwright.sync_api import expect

from console.models import AuditEntry, UserColumns
from console.ui.completion import options
from console.ui.pasted import pasted_id
from queueops.inspect.filter_fields import FIELDS
from queueops.inspect.lane_labels import remember
from queueops.model.contracts import Outcome
from queueops.redis.broker import get_broker
from tests.console.browsing import Open, browsing, serving
from tests.inspecting.errors import stored
from tests.kernel.desk import Desk

pytestmark = pytest.mark.django_db
ULID = "01KB5V3V2W8Q4Z6Y7X9T0R1S2P"


@pytest.fixture
def shop(namespace: str) -> Desk:
    """Twelve names in two lanes; one task has failed, one runs."""
    desk = Desk(get_broker())
    desk.push("failed", name="shop.charge", lane="bulk", tags=("vip",))
    desk.settle(
        desk.lease("web-3:1"), Outcome.ERROR, worker="web-3:1", delay_ms=-1, **stored("f1", "late", "shop.TimeoutError")
    )
    desk.push("runs", name="shop.ship", lane="bulk")
    desk.claim(1, worker="web-4:2")
    for number in range(12):
        desk.push(f"waits-{number}", name=f"mail.send-{number}")
    return desk


@pytest.fixture
def open_real(shop: Desk, db: None) -> Iterator[Open]:
    """Opens pages of the console, behind which the real engine is."""
    with serving() as url, browsing(url) as opened:
        yield opened


def test_a_filter_is_one_text_with_chips_and_old_addresses_fill_the_same_field(operator: Client, shop: Desk) -> None:
    for address in ("?q=state:failed name:shop.*", "?state=failed&q=name:shop.*", "?q=name:shop.* state:dead"):
        shown = operator.get(f"/ops/tasks/{address}").content.decode()
        assert 'value="state:failed name:shop.*"' in shown, address
        assert ">failed</code>" in shown
        assert "waits-1" not in shown
        assert 'href="/ops/tasks/?state=failed" aria-label="Filter name:shop.*: remove"' in shown
        assert "/ops/tasks/_all_retry?state=failed&amp;q=name%3Ashop.%2A" in shown
    action = "/ops/tasks/_all_retry?state=failed&q=name:shop.*"
    question = operator.post(action).content.decode()
    assert "<dt>Filter</dt><dd>name:shop.*</dd>" in question
    operator.post(action, {"confirmed": "1", "reason": "mended"})
    assert (shop.state("failed"), shop.state("runs")) == ("pending", "locked")
    entry = AuditEntry.objects.latest("pk")
    assert (entry.verb, entry.filter) == ("retry", {"state": "failed", "q": "name:shop.*"})
    several = operator.get("/ops/tasks/?q=(state:failed or state:running)").content.decode()
    assert "<title>Tasks: running, failed" in several
    assert 'value="state:locked,failed"' in several
    chosen = re.findall(r'data-key="(\w+)" href="([^"]*)" aria-current="true"', several)
    assert chosen == [("locked", "/ops/tasks/?state=failed"), ("failed", "/ops/tasks/?state=locked")]
    assert "waits-1" not in several
    assert (
        "/ops/tasks/_all_cancel?state=pending%2Clocked"
        in operator.get("/ops/tasks/?state=ready,running").content.decode()
    )
    operator.post("/ops/tasks/_all_cancel?state=postponed,pending", {"confirmed": "12", "reason": "too late"})
    assert (shop.state("waits-1"), shop.state("runs")) == ("cancelled", "locked")
    wrong = operator.get("/ops/tasks/?q=stat:failed lane:a")
    assert wrong.status_code == 400
    assert "stands between quotes; did you mean &#x27;state&#x27;" in wrong.content.decode()
    assert 'value="stat:failed lane:a"' in wrong.content.decode()


def test_fields_and_values_with_their_counts_are_offered_for_the_text_before_the_cursor(
    operator: Client, shop: Desk
) -> None:
    def offered(text: str) -> list[tuple[str, str]]:
        return [(option.text, option.about) for option in options(text)]

    assert [text for text, _ in offered("")][:3] == ["state:", "name:", "lane:"]
    assert offered("state:failed -la") == [("lane:", "lane")]
    assert options("state:failed -la")[0].begin == len("state:failed -")
    assert offered("(lane:bu") == [("lane:bulk", "2")]
    lane = f"aggr:={'0' * 64}"
    shop.push("jobs", lane=lane)
    remember(lane, "Trödel & Söhne")
    assert offered("lane:tröd") == [(f"lane:{lane}", "aggr:Trödel & Söhne, 1")]
    assert offered("state:fail") == [("state:failed", "1")]
    assert offered("state:locked,fail") == [("state:locked,failed", "1")]
    assert offered("tag:") == [("tag:vip", "1")]
    assert offered("shop.ch") == [("name:shop.charge", "1")]
    assert offered("error:time") == [("error:TimeoutError", "1")]
    assert len(offered("name:send")) == 12
    assert [text for text, _ in offered("age>")] == ["age>30s", "age>10m", "age>1h", "age>1d"]
    assert offered("pushed:yes") == [("pushed:yesterday", "")]
    assert offered("nothing:x") == offered('text:"a b') == []
    answer = operator.get("/ops/tasks/_complete", {"text": "tag:"}).content.decode()
    assert 'data-text="tag:vip"' in answer
    for field in FIELDS.values():
        assert f"`{field.example}`" in Path("docs/console.md").read_text()


def test_a_pasted_line_of_a_log_or_json_leads_to_its_task(operator: Client, shop: Desk) -> None:
    line = f"2026-11-28 10:00:01 ERROR worker shop.charge {ULID} failed: TimeoutError"
    assert pasted_id(line) == ULID
    assert pasted_id(json.dumps({"state": "failed", "id": "runs", "lane": "bulk"}, indent=2)) == "runs"
    assert pasted_id("WARNING task=runs took 3 s") == "runs"
    for none in ("state:failed", "two words", '{"a": 1}', "[1]", f"{ULID} and {ULID[:-1]}Q", ULID):
        assert pasted_id(none) == "", none
    for page in ("/ops/tasks/", "/ops/find/"):
        found = operator.get(page, {"q": "WARNING task=runs (took 3 s"}, follow=True)
        assert found.redirect_chain[-1][0].startswith("/ops/tasks/runs/"), page
    for text in (json.dumps({"text": "x" * 300, "id": "runs"}), "retry task=runs (took 3 s)"):
        assert 'href="/ops/tasks/runs/' in operator.get("/ops/_palette", {"q": text}).content.decode(), text
    filtered = operator.get("/ops/find/", {"q": "state:failed age<1h"})
    assert filtered["Location"] == "/ops/tasks/?state=failed&q=age%3C1h"


@pytest.mark.browser
def test_the_search_line_completes_by_keys_and_pointer_and_keeps_earlier_texts(open_real: Open) -> None:
    page = open_real("tasks/")
    field, offered = page.locator("#filter"), page.locator("#filter-options li")
    field.press_sequentially("sta")
    expect(offered).to_have_count(2)
    field.press("ArrowDown")
    expect(field).to_have_attribute("aria-activedescendant", "filter-option-1")
    field.press("Enter")
    expect(field).to_have_value("state:")
    expect(offered.first).to_have_text("state:pending 12")
    page.locator("#filter-options li", has_text="state:failed").click()
    expect(field).to_have_value("state:failed ")
    field.press("Enter")
    expect(page.locator("#rows tbody tr")).to_have_count(1)
    assert page.url.endswith("/ops/tasks/?q=state%3Afailed+")
    page.goto("/ops/tasks/")
    expect(page.locator(".facets section[data-key=name] li:visible")).to_have_count(9)
    page.get_by_text("14 in all, 5 more").click()
    expect(page.locator(".facets section[data-key=name] li:visible")).to_have_count(14)
    field.focus()
    expect(offered).to_have_text(["state:failedearlier"])
    field.press("Escape")
    expect(offered.first).to_be_hidden()


def test_values_that_may_not_be_all_are_not_counted_as_all(operator: Client, shop: Desk) -> None:
    for number in range(60):
        shop.push(f"more-{number}", name=f"shop.name_{number}")
    page = operator.get("/ops/tasks/").content.decode()
    assert "41 more of the most frequent" in page
    assert "50 in all" not in page


def test_columns_are_chosen_and_a_list_is_sorted_within_a_bound_that_it_states(
    client_of: Callable[..., Client], shop: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = client_of("operators")

    def heads(page: str) -> list[str]:
        table = page.partition("<thead>")[2].partition("</thead>")[0]
        return [re.sub("<.*?>", "", head).strip() for head in re.findall(r"<th .*?</th>", table, re.S)][1:]

    assert heads(operator.get("/ops/tasks/").content.decode()) == ["Task", "State", "Failed", "Lane", "Ran", "Since"]
    chosen = {"columns": ["", "worker", "waited", *["worker"] * 99], "next": "/ops/tasks/?state=failed"}
    shown = operator.post("/ops/settings/_save", chosen, follow=True).content.decode()
    assert heads(shown) == ["Task", "State", "Worker", "Waited"]
    assert '<a href="/ops/workers/web-3:1/">web-3:1</a>' in shown
    other_browser = client_of("operators").get("/ops/tasks/").content.decode()
    assert heads(other_browser) == ["Task", "State", "Worker", "Waited"]
    assert 'value="worker" checked' in other_browser
    assert UserColumns.objects.get().names == "worker,waited"
    assert heads(client_of("viewers").get("/ops/tasks/").content.decode())[1:] == ["Failed", "Lane", "Ran", "Since"]
    UserColumns.objects.update(names="waited,of a later version")
    assert heads(operator.get("/ops/tasks/").content.decode())[2:] == ["Failed", "Lane", "Ran", "Since"]
    operator.post("/ops/settings/_save", {"columns": ["", "nothing"]})
    assert heads(operator.get("/ops/tasks/").content.decode())[2:] == ["Failed", "Lane", "Ran", "Since"]
    operator.post("/ops/settings/_save", {"columns": [""]})
    assert heads(operator.get("/ops/tasks/").content.decode()) == ["Task", "State"]
    operator.post("/ops/settings/_save", {"columns": ["", "failed"]})

    shop.client.hset(shop.keys.task("waits-3"), "at", 7)
    by_failed = operator.get("/ops/tasks/?sort=-failed").content.decode()
    assert re.findall(r'code class="id">(.*?)<', by_failed)[:2] == ["waits-3", "failed"]
    assert 'aria-sort="descending"><a href="/ops/tasks/?sort=failed">' in by_failed
    assert "Sorted among" not in by_failed
    monkeypatch.setattr("console.pages.tasks.SORTED", 3)
    bounded = operator.get("/ops/tasks/?sort=-failed").content.decode()
    assert "Sorted among the newest 3 of them." in bounded
    assert len(re.findall(r'code class="id">', bounded)) == 3
    assert 'rel="next"' not in bounded


def test_the_order_that_a_user_chose_is_kept_and_a_url_with_an_order_wins(
    client_of: Callable[..., Client], shop: Desk
) -> None:
    operator = client_of("operators")

    def shown(address: str, reader: Client = operator) -> tuple[str, list[str]]:
        answer = reader.get(f"/ops/tasks/{address}", follow=True)
        sorted_head = re.findall(r'aria-sort="(\w+)">(?:<a[^>]*>)?(\w+)', answer.content.decode())
        return answer.request["QUERY_STRING"], [" ".join(each) for each in sorted_head]

    assert shown("") == ("", ["descending Since"])
    chosen = {"columns": ["", "failed", "ran", "since"], "sort": "-failed", "next": "/ops/tasks/"}
    operator.post("/ops/settings/_save", chosen)
    assert shown("?state=failed") == ("state=failed&sort=-failed", ["descending Failed"])
    assert shown("", client_of("operators")) == ("sort=-failed", ["descending Failed"]), "in each browser"
    assert '<option value="-failed" selected>' in operator.get("/ops/tasks/?sort=-failed").content.decode()
    assert shown("?sort=ran") == ("sort=ran", ["ascending Ran"])
    assert shown("?sort=-since") == ("sort=-since", ["descending Since"]), "also the order of the store"
    by_failed = operator.get("/ops/tasks/?sort=failed").content.decode()
    assert re.findall(r'href="/ops/tasks/\?sort=-since">(.*?)<', by_failed) == ["Failed", "Since"]
    assert shown("?sort=-failed", client_of("viewers")) == ("sort=-failed", ["descending Failed"]), "a colleague"
    assert shown("?state=failed", client_of("viewers")) == ("state=failed", ["descending Since"])
    operator.post("/ops/settings/_save", {"columns": ["", "failed", "since"]})
    assert shown("")[0] == "sort=-failed", "a form without an order keeps it"
    for other in ("-since", "of a later version"):
        operator.post("/ops/settings/_save", chosen | {"sort": other})
        assert shown("") == ("", ["descending Since"])
