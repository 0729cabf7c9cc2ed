"""The tree of a chain, a group or an iterator on its page, with the real engine underneath."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from queueops.model.contracts import Outcome
from queueops.redis.broker import get_broker
from tests.composites.trees import chain_of, group_of, plant
from tests.inspecting.errors import stored
from tests.kernel.desk import Desk


@pytest.fixture
def desk(namespace: str) -> Desk:
    """A broker by hand."""
    return Desk(get_broker())


def tree_page(client: Client, id: str, query: str = "") -> str:
    return client.get(f"/ops/tasks/{id}/children/?{query}").content.decode()


def shown(page: str) -> list[str]:
    """The parts that the page shows, from the top down."""
    return re.findall(r'class="node-name"><a href="/ops/tasks/([\w-]+)/', page)


def linked(page: str, words: str) -> str:
    """Where the link with these words leads."""
    (address,) = re.findall(rf'href="([^"]+)"[^>]*>(?:<svg.*?</svg>)?{words}<', page)
    return str(address).replace("&amp;", "&")


def live(page: str) -> str:
    (address,) = re.findall(r'hx-get="(/ops/(?!_status)[^"]+)"', page)
    return str(address).replace("&amp;", "&")


def test_the_parts_are_a_tab_with_theirs_below_and_each_leads_to_its_page(desk: Desk, viewer: Client) -> None:
    plant(desk, chain_of("c", "a", group_of("g", "x", "y"), "b"))
    desk.settle(desk.lease())
    assert "/ops/tasks/c/children/?pool=default" in viewer.get("/ops/tasks/c/").content.decode()
    page = tree_page(viewer, "c")
    assert shown(page) == ["a", "g", "x", "y", "b"]
    assert "2 have not ended" in page
    assert re.search(r"2 parts.*?2 pending</span></summary>", page, re.DOTALL)
    assert "formaction" not in page  # who may only look is offered no action


def test_what_the_state_of_a_part_allows_is_offered_and_done(desk: Desk, operator: Client) -> None:
    plant(desk, group_of("g", chain_of("c", "a", "b"), "x", of="continue"))
    desk.settle(desk.lease(), Outcome.ERROR, b"{}", delay_ms=-1)
    page = tree_page(operator, "g")
    offered = set(re.findall(r'formaction="/ops/tasks/(\w+)/_(\w+)"', page))
    assert offered == {("x", "cancel")}  # what has ended is run again by a retry of the group
    assert 'name="pool" value="default" formaction="/ops/tasks/x/_cancel"' in page
    assert "/ops/tasks/x/edit/?pool=default" in page
    assert "/ops/tasks/a/edit/" not in page
    back = {"pool": "default", "next": "/ops/tasks/g/children/?pool=default"}
    question = operator.post("/ops/tasks/x/_cancel", back).content.decode()
    assert "the group waits for its other parts, then fails" in question
    assert operator.post("/ops/tasks/x/_cancel", back | {"confirmed": "1"}).headers["Location"] == back["next"]
    assert desk.states("g", "x") == ["failed", "cancelled"]


def test_pages_follow_each_other_and_each_lives(desk: Desk, viewer: Client) -> None:
    plant(desk, group_of("g", *(f"t{number}" for number in range(120))))
    first = tree_page(viewer, "g")
    second = viewer.get(linked(first, "Next")).content.decode()
    last = viewer.get(linked(second, "Next")).content.decode()
    assert [len(shown(page)) for page in (first, second, last)] == [50, 50, 20]
    assert "50 before" in second
    assert shown(viewer.get(linked(last, "100 before")).content.decode()) == shown(second)
    assert shown(viewer.get(linked(last, "First")).content.decode()) == shown(first)
    assert 'rel="next"' not in last
    for page in (first, second, last):
        assert viewer.get(live(page)).status_code == 204
    desk.settle(desk.lease())
    assert shown(viewer.get(live(second)).content.decode() or "") == shown(second)


def test_a_page_is_as_large_for_ten_thousand_parts_as_for_some_hundred(desk: Desk, operator: Client) -> None:
    plant(desk, group_of("few", *(f"a{number:04d}" for number in range(300))))
    plant(desk, group_of("many", *(f"b{number:04d}" for number in range(9_000))))
    few, many = tree_page(operator, "few"), tree_page(operator, "many")
    assert len(shown(many)) == len(shown(few)) == 50
    assert len(many) < len(few) * 1.1


def test_a_living_page_keeps_its_rows_while_a_long_chain_goes_on(desk: Desk, viewer: Client) -> None:
    plant(desk, chain_of("c", *(f"t{number:03d}" for number in range(150))))
    for _ in range(60):
        desk.settle(desk.lease())
    page = tree_page(viewer, "c")
    assert shown(page)[3] == "t060"
    assert "57 before" in page
    for _ in range(10):
        desk.settle(desk.lease())
    assert shown(viewer.get(live(page)).content.decode()) == shown(page)
    assert shown(tree_page(viewer, "c"))[3] == "t070"


def test_a_shut_branch_is_opened_by_a_link_and_stays_open(desk: Desk, viewer: Client) -> None:
    plant(desk, group_of("g", *(group_of(f"g{i}", *(f"t{i}-{j}" for j in range(8))) for i in range(50))))
    page = tree_page(viewer, "g")
    assert "t49-0" not in shown(page)
    address = re.findall(r'href="([^"#]+open=g49)#n-\w+"', page)[0].replace("&amp;", "&")
    opened = viewer.get(address).content.decode()
    assert [name for name in shown(opened) if name.startswith("t49-")] == [f"t49-{j}" for j in range(8)]
    assert viewer.get(live(opened)).status_code == 204
    further = re.findall(r'href="([^"#]+open=g48)#n-\w+"', opened)[0]
    assert "open=g49" in further


def test_failed_parts_are_found_and_the_search_goes_on(desk: Desk, viewer: Client) -> None:
    plant(desk, group_of("g", *(f"t{number:04d}" for number in range(4000)), of="continue"))
    assert desk.told("cancel", "t3500") == "OK"
    page = viewer.get(linked(tree_page(viewer, "g"), "Failed")).content.decode()
    assert shown(page) == []
    assert "No part matches. Choose another filter." in page
    assert shown(viewer.get(linked(page, "Search on")).content.decode()) == ["t3500"]


def test_the_way_up_is_shown_from_the_top_down(desk: Desk, viewer: Client) -> None:
    plant(desk, chain_of("c", group_of("g", chain_of("d", "a", "b"))))
    above = re.findall(r'<li><a href="/ops/tasks/(\w+)/children/', tree_page(viewer, "d"))
    assert above == ["c", "g"]


def test_a_part_of_a_chain_leads_to_the_one_before_and_the_one_behind(desk: Desk, viewer: Client) -> None:
    plant(desk, chain_of("c", "a", "b", "z"))
    page = viewer.get("/ops/tasks/b/").content.decode()
    assert re.search(r'Comes after</dt><dd><a href="/ops/tasks/a/', page)
    assert re.search(r'Comes before</dt><dd><a href="/ops/tasks/z/', page)
    assert "part 2 of 3" in page


@pytest.mark.parametrize("query", ["after=x", "show=nonsense", "after=g"])
def test_a_position_that_is_none_is_not_found(desk: Desk, viewer: Client, query: str) -> None:
    plant(desk, group_of("g", "a"))
    assert viewer.get(f"/ops/tasks/g/children/?{query}").status_code == 404
    assert viewer.get(f"/ops/tasks/g/_live?tab=children&{query}").status_code == 404


def test_a_tree_costs_two_scripts_a_search_three_more_and_none_looks_at_many(desk: Desk, operator: Client) -> None:
    plant(desk, group_of("g", *(f"t{number:04d}" for number in range(9_000)), of="continue"))
    for query in ("", "show=failed", "after=8000"):
        tree_page(operator, "g", query)
        scripts = {"": 3, "show=failed": 5}.get(query, 2)  # the first page has a picture of the first 2,500
        # what a page keeps for some seconds may have to be read again
        calls = min((calls_of_page(desk, operator, query) for _ in range(3)), key=lambda each: each["cmdstat_fcall"])
        assert calls["cmdstat_fcall"] == scripts
        assert sum(calls.values()) < 600 * scripts + (2_500 if not query else 0)


def calls_of_page(desk: Desk, operator: Client, query: str) -> dict[str, int]:
    """How often the store ran each command for one view of the page."""
    before = desk.server.info("commandstats")
    tree_page(operator, "g", query)
    after = desk.server.info("commandstats")
    return {name: row["calls"] - before.get(name, {"calls": 0})["calls"] for name, row in after.items()}


def test_the_head_of_a_chain_that_failed_tells_the_error_and_leads_to_what_failed(
    desk: Desk, viewer: Client, operator: Client
) -> None:
    plant(desk, chain_of("c", "a", "b"))
    desk.settle(desk.lease(), Outcome.ERROR, delay_ms=-1, **stored(message="boom"))
    assert re.search(r'class="under bad">[^<]*boom', operator.get("/ops/tasks/c/timeline/").content.decode())
    page = viewer.get("/ops/tasks/c/timeline/").content.decode()
    assert re.search(r'class="under bad">ValueError<', page)
    assert "/ops/tasks/c/children/?pool=default&amp;show=failed" in page
    assert "show=failed" not in viewer.get("/ops/tasks/a/").content.decode()
