"""The picture of a composite on its page: boxes in order, each a link, readable with 5, 60 and 2,000 parts."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from console.diagram.graph import MOST_BOXES, Box, Graph
from console.kinds.composites.parts_picture import draw
from queueops.inspect import GraphNode
from queueops.model.contracts import Outcome
from queueops.redis.broker import get_broker
from tests.composites.trees import chain_of, group_of, plant
from tests.console.browsing import browsing, serving
from tests.console.test_trees import live, tree_page
from tests.kernel.desk import Desk

NOT_FITTING = """() => [...document.querySelectorAll('.graph-box')].filter((box) => box.getClientRects().length
    && [...box.querySelectorAll('text')].some((text) =>
        text.getBoundingClientRect().right > box.querySelector('.graph-ground').getBoundingClientRect().right))
    .map((box) => box.textContent.trim())"""


@pytest.fixture
def desk(namespace: str) -> Desk:
    """A broker by hand."""
    return Desk(get_broker())


def labels(page: str) -> list[str]:
    """What the boxes and frames of the drawing for wide screens are called, in the order of the keyboard."""
    wide = page.split("graph-narrow")[0]
    return re.findall(r'class="graph-(?:box|frame)[^>]+aria-label="([^"]+)"', wide)


def part(name: str, state: str = "succeeded", begun: int | None = 1000, ended: int | None = 2000) -> GraphNode:
    times = {"begun_ms": begun, "ended_ms": ended}
    return GraphNode(id=name, pool="p", kind="task", name=name, state=state, counts=((state, 1),), **times)


def whole(kind: str, *parts: GraphNode) -> GraphNode:
    return GraphNode(
        id=kind, pool="p", kind=kind, total=len(parts), read=len(parts), counts=(("idle", 1),), parts=parts
    )


def boxes(graph: Graph) -> list[Box]:
    return [shape for shape in graph.shapes if isinstance(shape, Box)]


def test_the_page_has_each_part_as_a_link_in_order_and_many_failed_ones_lead_to_their_list(
    desk: Desk, viewer: Client
) -> None:
    plant(desk, chain_of("c", "a", group_of("g", *(f"r{number}" for number in range(40)), of="continue"), "b"))
    desk.settle(desk.lease())
    for lease in desk.claim(40):
        failed = lease.id == "r7"
        desk.settle(lease, *((Outcome.ERROR, b"{}") if failed else ()), **({"delay_ms": -1} if failed else {}))
    page = tree_page(viewer, "c")
    first, frame, fold, last = labels(page)
    assert first.startswith("tests.noop: succeeded · ")
    assert (frame, last) == ("group · 40 parts: failed", "tests.noop: cancelled")
    assert fold == "40 × tests.noop: 1 failed, 39 succeeded"
    assert 'href="/ops/tasks/g/children/?pool=default&amp;show=failed"' in page
    assert 'href="/ops/tasks/a/?pool=default"' in page
    assert len(re.findall("graph-arrow-critical", page.split("graph-narrow")[0])) == 1  # to the group, and not to b
    assert "graph-box" not in tree_page(viewer, "g", "after=20")  # a later page of the list
    assert labels(viewer.get(live(page)).content.decode()) == []  # nothing has changed
    desk.broker.client.hset(desk.keys.task("r1"), "e", 10)  # a part that the list does not show
    updated = viewer.get(live(page)).content.decode()
    assert labels(updated) == [first, frame, fold, last]


def test_the_critical_path_of_a_group_is_the_part_that_ends_last(namespace: str) -> None:
    quick, slow, runs = part("quick"), part("slow", ended=9000), part("runs", "locked", 1500, None)
    after = part("after", "waiting", None, None)
    for others, last in (((quick, slow), "slow"), ((quick, slow, runs), "runs")):
        picture = draw(whole("chain", whole("group", *others), after))
        assert picture is not None
        critical = [box.name for box in boxes(picture.graphs[0]) if box.critical]
        assert critical == [last, "after"]


def test_a_drawing_has_at_most_so_many_boxes_and_none_lies_on_another() -> None:
    groups = [whole("group", *(part(f"n{number}.{each}") for each in range(24))) for number in range(12)]
    picture = draw(whole("chain", *groups, whole("chain", *(part(f"step{number}") for number in range(9)))))
    assert picture is not None
    for graph in picture.graphs:
        drawn = boxes(graph)
        assert 100 < len(drawn) <= MOST_BOXES
        places = sorted((box.x, box.y) for box in drawn)
        assert len(set(places)) == len(places)
        assert all(
            abs(one.y - other.y) >= 50 or abs(one.x - other.x) >= min(one.width, other.width)
            for number, one in enumerate(drawn)
            for other in drawn[:number]
        )
        assert max(box.x + box.width for box in drawn) <= graph.width


@pytest.mark.browser
def test_the_graph_is_readable_and_reached_by_keys_on_a_screen_and_on_a_telephone(desk: Desk, db: None) -> None:
    many = (f"r{number}" for number in range(1900))
    plant(desk, chain_of("c", "a", group_of("g", *many), group_of("h", "m", chain_of("d", "x", "y")), "b"))
    desk.settle(desk.lease())
    desk.claim(3)
    with serving() as url, browsing(url) as opened:
        page = opened(viewport={"width": 1440, "height": 900})
        for width in (1440, 390):
            page.set_viewport_size({"width": width, "height": 900})
            page.goto("/ops/tasks/c/children/")
            shown = page.locator(f".graph-{'wide' if width > 720 else 'narrow'}")
            assert page.locator(".graph:visible").count() == 1
            assert page.evaluate(NOT_FITTING) == []
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            shown.focus()
            for name in ("tests.noop", "group · 1,900 parts", "1,900 × tests.noop", "group · 2 parts"):
                page.keyboard.press("Tab")
                assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith(f"{name}: ")
        page.keyboard.press("Enter")
        page.wait_for_url("**/tasks/h/children/**")
