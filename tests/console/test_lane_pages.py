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


@pytest.mark.django_db
def test_the_console_leads_from_page_to_page(many: Any, administrator: Client) -> None:
    address, seen, pages = "/ops/lanes/", set[str](), 0
    while address:
        page = administrator.get(address).content.decode()
        seen |= set(re.findall(r">(lane-\d+)</a>", page))
        found = re.search(r'rel="next" href="([^"]+)"', page)
        live = found_in(page, r'hx-get="(/ops/lanes/[^"]+)"')
        after = parse_qs(urlsplit(address).query).get("after")
        assert parse_qs(urlsplit(live).query).get("after") == after
        here = parse_qs(urlsplit(found_in(page, r'name="next" value="([^"]+)"')).query).get("after")
        assert here == after
        assert administrator.get(live).status_code in (200, 204)
        address, pages = found[1] if found else "", pages + 1
    assert (len(seen), pages) == (LANES, 4)
    wrong = administrator.get("/ops/lanes/?after=x").content.decode()
    assert "From the beginning" in wrong


@pytest.mark.django_db
def test_a_lane_beyond_the_first_page_is_set_in_the_terminal(many: Any, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("queue", "set-lane", "lane-001", "--limit", "3")
    call_command("queue", "set-lane", "lane-001", "--limit", "5")
    assert "limit 3 -> 5" in capsys.readouterr().out
