"""Aggregations are listed with their figures, page by page, and changed by an operator."""

from __future__ import annotations

import pytest

from queueops import control, inspect, jobs
from queueops.errors import FilterError, UnknownLane
from queueops.model.contracts import Outcome
from queueops.redis.broker import get_broker
from tests.kernel.desk import NEVER_MS, Desk


@pytest.fixture
def desk(namespace: str) -> Desk:
    return Desk(get_broker())


def test_an_aggregation_shows_its_limits_and_its_jobs_by_state(desk: Desk) -> None:
    given = {"aggregation": "a b", "handler": "work", "limit": 3, "rate": 100}
    jobs.submit_many([given | {"delay": 3600}, *[given] * 6])
    first, second, _third = desk.claim(9)
    desk.settle(first, Outcome.ERROR, b"{}", delay_ms=-1)
    desk.settle(second, Outcome.ERROR, b"{}", delay_ms=NEVER_MS)
    row = inspect.aggregation("a b")
    assert row == inspect.aggregations().rows[0]
    assert (row.pool, row.id, row.limit, row.rate, row.paused) == ("default", "a b", 3, 100, False)
    assert (row.ready, row.delayed, row.in_flight, row.failed) == (3, 2, 1, 1)
    assert row.oldest_ms <= inspect.now_ms()


def test_other_lanes_are_no_aggregations(desk: Desk) -> None:
    desk.push("x", lane="other")
    assert inspect.aggregations().rows == ()
    assert inspect.aggregation("other") is None


def test_pages_follow_each_other_over_all_pools_without_a_gap(desk: Desk) -> None:
    jobs.submit_many({"aggregation": f"a{n}", "handler": "work", "pool": f"p{n % 3}"} for n in range(40))
    after, seen = "", []
    while True:
        page = inspect.aggregations(after=after, limit=7)
        seen += [row.id for row in page.rows]
        if not (after := page.next):
            break
    assert sorted(seen) == sorted(f"a{n}" for n in range(40))
    assert len(inspect.aggregations("p1").rows) == 13


def test_a_place_of_another_list_is_refused(desk: Desk) -> None:
    jobs.submit_many({"aggregation": f"a{n}", "handler": "work"} for n in range(3))
    with pytest.raises(FilterError):
        inspect.destinations(after=inspect.aggregations(limit=1).next)


def test_an_operator_changes_pauses_and_resumes_an_aggregation(desk: Desk) -> None:
    jobs.submit(aggregation="a b", handler="work", limit=2)
    assert control.set_aggregation("a b", limit=5, rate=None) == {"limit": "2"}
    control.pause_aggregation("a b")
    assert desk.claim() == []
    assert inspect.aggregation("a b").paused
    control.resume_aggregation("a b")
    assert len(desk.claim()) == 1
    assert inspect.aggregation("a b").limit == 5
    with pytest.raises(UnknownLane):
        control.set_aggregation("unknown", limit=1)
