"""The parts of a chain on its pages, with the real engine underneath."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from queueops.redis.broker import get_broker
from tests.composites.trees import chain_of, group_of, plant
from tests.kernel.desk import Desk


@pytest.fixture
def desk(namespace: str) -> Desk:
    """A broker by hand."""
    return Desk(get_broker())


def test_the_parts_of_a_chain_are_a_tab_that_leads_to_each(desk: Desk, viewer: Client) -> None:
    plant(desk, chain_of("c", "a", group_of("g", "x"), "b"))
    desk.settle(desk.lease())
    page = viewer.get("/ops/tasks/c/").content.decode()
    assert "/ops/tasks/c/children/?pool=default" in page
    parts = viewer.get("/ops/tasks/c/children/").content.decode()
    assert re.findall(r'class="task-cell"><a href="/ops/tasks/(\w+)/', parts) == ["a", "g", "b"]
    assert "2 have not ended" in parts


def test_the_parts_come_in_pages_and_each_page_lives(desk: Desk, viewer: Client) -> None:
    plant(desk, group_of("g", *(f"t{number}" for number in range(60))))
    first = viewer.get("/ops/tasks/g/children/").content.decode()
    assert len(re.findall(r'<tr id="part-', first)) == 50
    (address,) = re.findall(r'rel="next" href="([^"]+)"', first)
    second = viewer.get(address.replace("&amp;", "&")).content.decode()
    assert len(re.findall(r'<tr id="part-', second)) == 10
    assert 'rel="next"' not in second
    (live,) = re.findall(r'hx-get="([^"]+)"', second)
    assert viewer.get(live.replace("&amp;", "&")).status_code == 204


def test_a_position_that_is_none_is_not_found(desk: Desk, viewer: Client) -> None:
    plant(desk, group_of("g", "a"))
    assert viewer.get("/ops/tasks/g/children/?after=x").status_code == 404
    assert viewer.get("/ops/tasks/g/_live?tab=children&after=x").status_code == 404


def test_a_part_leads_to_what_it_is_part_of_and_why_leads_to_the_parts(desk: Desk, viewer: Client) -> None:
    plant(desk, chain_of("c", "a", "b"))
    page = viewer.get("/ops/tasks/b/").content.decode()
    assert "Part of" in page
    assert 'href="/ops/tasks/c/?pool=default">chain</a>' in page
    assert "children/" not in page
    why = viewer.get("/ops/tasks/c/why/").content.decode()
    assert "It waits for its parts: 0 of 2 have ended." in why
    assert "See its parts" in why
