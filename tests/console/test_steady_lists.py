"""Lists that live keep their order: what is under the pointer is not another row when it is pressed."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client
from msgspec.structs import replace

from queueops import inspect
from queueops.inspect import ErrorRow, LanePage, LaneRow, Listing
from tests.console.standin import World

pytestmark = pytest.mark.django_db


@pytest.fixture
def errors(world: World, monkeypatch: pytest.MonkeyPatch) -> list[ErrorRow]:
    """Groups as the engine tells them, the latest first; the test changes them."""
    pattern = world.errors()[0]
    groups = [
        replace(pattern, fingerprint=f"f{n}", type=f"E{n}", last_ms=1000 - n, failed=failed, count=times)
        for n, failed, times in ((1, 0, 9), (2, 30_000, 3), (3, 7, 50))
    ]
    monkeypatch.setattr(inspect, "errors", lambda limit=100: Listing(list(groups)))
    return groups


def types(page: str) -> list[str]:
    return re.findall(r"data-open>(E\d)<", page)


def live_url(page: str) -> str:
    found = re.search(r'hx-get="(/ops/(?!_status)[^"]+)"', page)
    assert found is not None
    return html.unescape(found[1])


def test_errors_keep_their_places_while_others_fail(errors: list[ErrorRow], operator: Client) -> None:
    page = operator.get("/ops/errors/").content.decode()
    assert types(page) == ["E1", "E2", "E3"]
    errors[2] = replace(errors[2], last_ms=5000, count=51)
    errors.reverse()
    errors.insert(0, replace(errors[0], fingerprint="f4", type="E4", last_ms=9000))
    fragment = operator.get(live_url(page)).content.decode()
    assert types(fragment) == ["E1", "E2", "E3"]
    assert ">51<" in fragment
    assert "1 new" in fragment
    assert types(operator.get("/ops/errors/").content.decode()) == ["E4", "E3", "E1", "E2"]


@pytest.mark.parametrize(
    ("sort", "order"),
    [("failed", ["E2", "E3", "E1"]), ("times", ["E3", "E1", "E2"]), ("nonsense", ["E1", "E2", "E3"])],
)
def test_errors_are_sorted_by_what_is_worst(
    sort: str, order: list[str], errors: list[ErrorRow], operator: Client
) -> None:
    page = operator.get(f"/ops/errors/?sort={sort}").content.decode()
    assert types(page) == order
    assert page.count('aria-sort="descending"') == 1
    assert operator.get(live_url(page)).status_code == 204


def test_the_buttons_of_a_lane_stay_where_they_are(
    world: World, administrator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["tenant-10", "tenant-9", "bulk", "tenant-1"]

    def lanes(order: list[str]) -> LanePage:
        rows = [LaneRow(pool=pool, lane=name, ready=1, active=0) for pool in ("b", "a") for name in order]
        return LanePage(rows=tuple(rows))

    def shown() -> list[tuple[str, str]]:
        page = administrator.get("/ops/lanes/").content.decode()
        return re.findall(r'<tr id="(l-[0-9a-f]{10})".*?/ops/lanes/([^"]+)/_pause"', page, re.S)

    monkeypatch.setattr(inspect, "lane_page", lambda **_: lanes(names))
    before = shown()
    assert [address for _, address in before[:4]] == ["a/bulk", "a/tenant-1", "a/tenant-9", "a/tenant-10"]
    monkeypatch.setattr(inspect, "lane_page", lambda **_: lanes(names[::-1]))
    assert shown() == before


def test_the_overview_shows_the_lanes_with_most_work_first(
    world: World, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = {f"t{number}": number for number in range(30)} | {"flood": 40_000}
    snapshot = replace(
        world.snapshot(),
        lanes=tuple(LaneRow(pool="default", lane=name, ready=count, active=0) for name, count in ready.items()),
    )
    monkeypatch.setattr(inspect, "snapshot", lambda _age: snapshot)
    page = operator.get("/ops/").content.decode()
    assert re.findall(r'href="/ops/lanes/default/([\w-]+)/"', page) == [
        "flood",
        *(f"t{number}" for number in range(29, 18, -1)),
    ]


def test_the_buttons_of_a_schedule_stay_where_they_are_when_it_has_fired(
    world: World, administrator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    pattern = inspect.schedules()[0]

    def shown(*ids: str) -> list[tuple[str, str]]:
        rows = [replace(pattern, id=id, next_ms=number) for number, id in enumerate(ids)]
        monkeypatch.setattr(inspect, "schedules", lambda pool="": Listing(rows))
        page = administrator.get("/ops/schedules/").content.decode()
        return re.findall(r'<tr id="(s-[0-9a-f]{10})".*?/ops/schedules/([^/]+)/_run', page, re.S)

    before = shown("s-10", "nightly", "s-9")
    assert [id for _, id in before] == ["nightly", "s-9", "s-10"]
    assert shown("s-9", "s-10", "nightly") == before
