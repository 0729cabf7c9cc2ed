"""Lists of lanes have pages: each of many lanes is on one of them, and a later page reads no more than the first."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.management import call_command
from django.test import Client

from queueops import inspect
from queueops.errors import FilterError
from queueops.redis.broker import get_broker

LANES = 650


@pytest.fixture
def many(namespace: str) -> Any:
    """Lanes of two pools, most of which were used in the same millisecond."""
    broker = get_broker()
    for pool, count in (("default", LANES), ("other", 3)):
        broker.announce(pool)
        key = broker.keys(pool)
        used = {f"lane-{number:03d}": 1_700_000_000_000 + number // 100 for number in range(count)}
        broker.client.zadd(key.lanes, used)
    return broker


def found_in(page: str, pattern: str) -> str:
    found = re.search(pattern, page)
    assert found
    return found[1].replace("&amp;", "&")


def walk(pool: str = "") -> list[inspect.LanePage]:
    pages = [inspect.lane_page(pool)]
    while pages[-1].next:
        pages.append(inspect.lane_page(pool, pages[-1].next))
    return pages


@pytest.mark.parametrize(("pool", "of_others"), [("", 3), ("default", 0)])
def test_each_lane_is_on_one_page(many: Any, pool: str, of_others: int) -> None:
    pages = walk(pool)
    assert [len(page.rows) for page in pages] == [200 + of_others, 200, 200, 50]
    names = [(row.pool, row.lane) for page in pages for row in page.rows]
    assert sorted(names) == sorted({*names})
    assert len(names) == LANES + of_others
    assert names[0] == ("default", "lane-649")


def test_the_first_page_has_the_lanes_of_the_reading(many: Any) -> None:
    assert list(inspect.lane_page().rows) == list(inspect.lanes())


def test_a_later_page_looks_at_no_more_lanes_than_the_first(many: Any) -> None:
    def commands(after: str) -> int:
        many.client.config_resetstat()
        inspect.lane_page("default", after)
        return int(sum(each["calls"] for each in many.client.info("commandstats").values()))

    second = inspect.lane_page("default").next
    third = inspect.lane_page("default", second).next
    assert commands(third) <= commands(second) + 20  # the place is searched by halves


def test_a_wrong_place_is_refused(many: Any) -> None:
    with pytest.raises(FilterError):
        inspect.lane_page("", "nonsense")


def place(address: str) -> list[list[str] | None]:
    given = parse_qs(urlsplit(address).query)
    return [given.get("after"), given.get("page")]


@pytest.mark.django_db
def test_the_console_leads_from_page_to_page(many: Any, administrator: Client) -> None:
    address, seen, pages = "/ops/lanes/", set[str](), 0
    while address:
        page = administrator.get(address).content.decode()
        seen |= set(re.findall(r">(lane-\d+)</a>", page))
        found = re.search(r'rel="next" href="([^"]+)"', page)
        live = found_in(page, r'hx-get="(/ops/lanes/[^"]+)"')
        here = found_in(page, r'name="next" value="([^"]+)"')
        for given in (live, here):
            assert place(given) == place(address)
        assert administrator.get(live).status_code in (200, 204)
        address, pages = found[1].replace("&amp;", "&") if found else "", pages + 1
        assert pages < 20
    assert (len(seen), pages) == (LANES, 14)
    wrong = administrator.get("/ops/lanes/?after=x").content.decode()
    assert "From the beginning" in wrong


@pytest.mark.django_db
def test_the_list_of_lanes_is_filtered_and_sorted_and_has_no_inputs(many: Any, administrator: Client) -> None:
    def lanes(query: str) -> list[str]:
        return re.findall(r">(lane-\d+)</a>", administrator.get(f"/ops/lanes/{query}").content.decode())

    assert lanes("?f=Lane-64 default")[:2] == ["lane-640", "lane-641"]
    assert lanes("?f=other/") == ["lane-000", "lane-001", "lane-002"]
    assert lanes("?f=other&sort=-lane") == ["lane-002", "lane-001", "lane-000"]
    assert len(lanes("?page=2")) == 50
    assert lanes("?page=99999") == lanes("?page=5")
    assert lanes("?sort=nothing&page=x") == lanes("")
    page = administrator.get("/ops/lanes/?f=other&sort=-ready").content.decode()
    assert 'aria-sort="descending"><a href="/ops/lanes/?f=other&amp;sort=ready">Ready' in page
    assert found_in(page, r'hx-get="(/ops/lanes/_rows[^"]+)"').startswith("/ops/lanes/_rows?f=other&sort=-ready")
    assert 'name="limit"' not in page
    nothing = administrator.get("/ops/lanes/?f=<none>").content.decode()
    assert "None has “&lt;none&gt;” in it." in nothing
    for others in ("workers", "registry", "schedules"):
        shown = administrator.get(f"/ops/{others}/?f=x&sort=-fired&page=2")
        assert shown.status_code == 200


@pytest.mark.django_db
def test_a_lane_beyond_the_first_page_is_set_in_the_terminal(many: Any, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("queue", "set-lane", "lane-001", "--limit", "3")
    call_command("queue", "set-lane", "lane-001", "--limit", "5")
    assert "limit 3 -> 5" in capsys.readouterr().out
