"""Search for tasks by the beginning of their id."""

from __future__ import annotations

import time

from queueops import inspect
from queueops.inspect import TaskQuery
from queueops.model.ids import made_ms, new_id
from tests.kernel.desk import Desk


def test_tasks_are_found_by_the_beginning_of_their_id(desk: Desk) -> None:
    old = new_id()
    desk.push(old, "order-17", "order-18", "other")
    desk.settle(desk.lease())
    assert {row.id for row in inspect.tasks_with_prefix("order-").rows} == {"order-17", "order-18"}
    assert [row.id for row in inspect.tasks_with_prefix(old[:12]).rows] == [old]
    assert inspect.tasks_with_prefix("or").rows == ()
    assert inspect.tasks_with_prefix("order *").rows == ()
    assert len(inspect.tasks_with_prefix("order-", limit=1).rows) == 1
    assert inspect.tasks(TaskQuery(id="order-17")).rows != ()


def test_an_old_ulid_is_found_by_its_time_among_many_older_and_newer_tasks(desk: Desk) -> None:
    desk.push(*[f"s{number}" for number in range(1100)])
    time.sleep(0.002)
    old = new_id()
    desk.push(old)
    desk.push(*[f"t{number}" for number in range(2500)])
    found = inspect.tasks_with_prefix(old[:14])
    assert [row.id for row in found.rows] == [old]
    assert found.partial


def test_a_ulid_tells_the_time_before_which_it_was_not_made() -> None:
    id = new_id()
    whole = made_ms(id)
    assert whole is not None
    earlier = made_ms(id[:7])
    assert earlier is not None
    assert earlier <= whole
    assert made_ms("order-17") is None
    assert made_ms("01ARZ") is None
