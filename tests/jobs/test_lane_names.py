"""Names of lanes: any id of an aggregation has one lane, and no other id has the same."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queueops.errors import BadOption
from queueops.kinds.jobs.aggregations.lane_names import lane_of_aggregation, lane_of_destination
from queueops.model.ids import check_lane
from tests.support.for_each import for_each

IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200)


@for_each("id", ["shop", "example.com:8080", "a/b+c@d=e", "x" * 95])
def test_an_id_that_fits_is_in_the_name_as_it_is(id: str) -> None:
    assert lane_of_aggregation(id) == f"aggr:{id}"


@for_each("id", ["=", "x" * 96, "x" * 200, "é", "a b", "a#b", "\n", "a\x00", "=" + "0" * 64])
def test_any_other_id_has_a_valid_name(id: str) -> None:
    lane = lane_of_aggregation(id)
    assert lane == check_lane(lane)
    assert lane.startswith("aggr:=")
    assert lane != lane_of_aggregation(lane.removeprefix("aggr:"))


@settings(max_examples=200, deadline=None)
@given(IDS, IDS)
def test_two_ids_never_have_one_lane(one: str, other: str) -> None:
    assert (lane_of_aggregation(one) == lane_of_aggregation(other)) is (one == other)


@for_each("id", ["", "x" * 201, None, 7, b"shop", "\ud800"])
def test_what_is_not_a_text_of_1_to_200_characters_is_refused(id: object) -> None:
    with pytest.raises(BadOption, match="a text of 1 to 200 characters"):
        lane_of_aggregation(id)


def test_a_host_has_one_lane_in_capital_and_small_letters() -> None:
    assert lane_of_destination("Example.COM") == lane_of_destination("example.com") == "to:example.com"
    assert lane_of_destination("[::1]:80").startswith("to:=")
