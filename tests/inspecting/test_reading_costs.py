"""What a question reads of the store: the fields that it needs, and all pools in one round trip."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from queueops import inspect, jobs
from queueops.inspect import TaskQuery
from tests.kernel.desk import Desk
from tests.support.monitoring import counted_trips, round_trips

POOLS = ("default", "mail", "reports")


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("key:shop-*", {"lk", "ck", "s"}),
        ("error:refused", {"er", "s"}),
        ("age>1h", {"c", "s"}),
        ("ran>1h attempts>2", {"b", "e", "s", "at"}),
        ("nowhere", {"n", "tg", "l", "w", "s"}),
        ("(name:a or id:b*) -priority>3", {"n", "p", "s"}),
    ],
)
def test_a_condition_reads_its_own_fields_of_a_candidate_in_one_command(
    desk: Desk, text: str, fields: set[str]
) -> None:
    desk.push("one", "two", name="shop.bill")
    inspect.tasks(TaskQuery())  # the library is loaded
    asked = round_trips(desk, lambda: inspect.tasks(TaskQuery(q=text), limit=1))
    (read,) = {command for command in asked.inside if ":task:two" in command and "HMGET" in command.upper()}
    assert set(read.split()[2:]) == fields


def test_a_list_of_lanes_reads_no_record_of_a_task(desk: Desk) -> None:
    desk.push("one", "two", lane="slow")
    assert [row.ready for row in inspect.lanes()] == [2]
    asked = round_trips(desk, inspect.lanes)
    assert [command for command in asked.inside if ":task:" in command] == []


@pytest.mark.parametrize("question", [inspect.jobs, inspect.workflow_runs], ids=["jobs", "runs"])
def test_rows_of_several_pools_are_read_in_three_round_trips(desk: Desk, question: Callable[[], object]) -> None:
    for pool in POOLS:
        jobs.submit(aggregation="shop", handler="work", pool=pool)
        Desk(desk.broker, pool).push(f"run-{pool}", name="tests.run", kind="workflow", own=(("vi", pool),))
    assert {row.pool for row in question().rows} == set(POOLS)  # type: ignore[attr-defined]
    with counted_trips() as trips:
        question()
    assert trips.made == 3
