"""The drawing of the state machine: arrows go round boxes, and rates can be read."""

from __future__ import annotations

import random
import re
from itertools import combinations

import pytest

from console.diagram import labels
from console.diagram.layout import LAYOUTS, NARROW, SPINE, WIDE, states_of
from console.diagram.machine import Picture, draw
from console.diagram.machine_svg import machine_svg
from console.diagram.path import straight
from console.diagram.route import Rectangle, route
from console.ui.formatting import rate
from queueops.model.states import State, table
from tests.support.for_each import for_each

PAIRS = sorted(pair for pair in table().flows if pair[0] != pair[1])
QUIET = frozenset(state for pair in PAIRS for state in map(State, filter(None, pair)))


def behind(layout: str, pair: tuple[str, str]) -> set[State]:
    """The boxes of others behind which the arrow passes."""
    place = next(each for each in LAYOUTS if each.name == layout)
    points = route(layout, QUIET, pair).points
    others = {state: Rectangle.around(place.places[state], place.box) for state in QUIET if state not in pair}
    return {state for state, box in others.items() if any(box.holds(point) for point in points)}


@for_each("pair", PAIRS)
def test_no_arrow_passes_behind_a_box_that_it_does_not_belong_to(pair: tuple[str, str]) -> None:
    assert behind(WIDE.name, pair) == set()
    if pair in SPINE:
        assert behind(NARROW.name, pair) == set()


def boxes_of(picture: Picture) -> list[Rectangle]:
    written = [(f"{rate(way.rate)}/s", way.spot) for way in picture.ways if way.spot]
    places = [labels.around(text, spot) for text, spot in written if spot]
    boxes = [Rectangle(box.left, box.top, box.left + box.width, box.top + box.height) for box in picture.boxes]
    return [*places, *boxes]


@pytest.mark.parametrize("seed", range(5))
def test_no_rate_lies_on_another_one_or_on_a_box(seed: int) -> None:
    some = random.Random(seed)
    flows = {">".join(pair): some.choice([0.02, 0.4, 4.8, 120]) for pair in some.sample(PAIRS, 25)}
    for picture in draw({}, flows):
        assert not [(one, other) for one, other in combinations(boxes_of(picture), 2) if one.meets(other)]
        assert all(0 <= way.spot[0] <= picture.width for way in picture.ways if way.spot)


def test_the_usual_rates_are_all_written_also_on_a_phone() -> None:
    flows = {">".join(pair): 12.5 for pair in SPINE}
    for picture in draw({}, flows):
        assert {(way.source, way.target) for way in picture.ways if way.spot} == SPINE


def test_a_rate_for_which_there_is_no_room_is_left_out() -> None:
    line = straight((0, 50), (60, 50))
    assert labels.place([("9/s", line), ("8/s", line), ("7/s", line)], [], 60)[2] is None


def test_only_the_usual_ways_are_drawn_on_a_phone_and_a_list_has_the_others() -> None:
    wide, narrow = draw({}, {"idle>failed": 0.02, "aggregating>failed": 3, "locked>failed": 1, ">idle": 0.5})
    assert {(way.source, way.target) for way in narrow.ways} == SPINE
    assert narrow.others == (("aggregating", "failed", 3), ("", "idle", 0.5), ("idle", "failed", 0.02))
    assert wide.others == ()
    (told,) = re.findall("<ul.*?</ul>", machine_svg((wide, narrow), title="States", key="way"), re.S)
    assert re.findall("<li>(.*?)</li>", told)[1:] == [
        "→ idle <b>0.50/s</b>",
        "idle → failed <b>0.02/s</b>",
    ]


def test_each_transition_with_traffic_is_drawn_with_its_rate_and_a_rare_one_is_faint() -> None:
    flows = {"pending>locked": 120.0, "idle>failed": 0.04, "locked>failed": 1.1, "locked>quarantined": 1.3}
    drawn = {(way.source, way.target): way for way in draw({}, flows)[0].ways}
    assert set(drawn) >= SPINE | {("idle", "failed"), ("locked", "quarantined")}
    weights = {"pending>locked": 3, "locked>quarantined": 1, "locked>failed": 0, "idle>failed": 0}
    assert {flow: drawn[states_of(flow)].weight for flow in flows} == weights
    assert all(drawn[states_of(flow)].spot for flow in flows)
