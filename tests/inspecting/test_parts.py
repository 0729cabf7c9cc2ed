"""The parts of chains, groups and iterators, as inspect tells them."""

from __future__ import annotations

import pytest

from queueops import inspect
from queueops.errors import FilterError
from queueops.inspect import PartPage
from queueops.redis.broker import get_broker
from tests.composites.trees import chain_of, group_of, plant
from tests.composites.work import Count
from tests.kernel.desk import Desk


def told(page: PartPage) -> list[tuple[int | None, str, str]]:
    """Number, id and state of each row."""
    return [(row.number, row.id, row.task.state if row.task else "gone") for row in page.rows]


def reason(id: str) -> str:
    return next(finding.text for finding in inspect.why(id) if not finding.ok)


def test_parts_come_in_their_order_with_what_they_are(desk: Desk) -> None:
    plant(desk, chain_of("c", "b", group_of("a", "x", "y"), "z"))
    desk.settle(desk.lease())
    page = inspect.parts("c", "default")
    assert told(page) == [(1, "b", "succeeded"), (2, "a", "idle"), (3, "z", "waiting")]
    assert (page.open, page.next) == (2, "")
    assert [row.task.kind for row in page.rows if row.task] == ["task", "group", "task"]
    assert page.rows[0].begun_ms is not None
    assert page.rows[0].ended_ms is not None


def test_pages_follow_each_other(desk: Desk) -> None:
    names = [f"t{number:03d}" for number in range(103)]
    plant(desk, group_of("g", *reversed(names)))
    first = inspect.parts("g", "default")
    second = inspect.parts("g", "default", after=first.next)
    last = inspect.parts("g", "default", after=second.next)
    assert [len(page.rows) for page in (first, second, last)] == [50, 50, 3]
    assert [row.id for page in (first, second, last) for row in page.rows] == names[::-1]
    assert last.rows[-1].number == 103
    assert not last.next


def test_a_part_whose_record_is_gone_or_another_ones_is_said_to_be_gone(desk: Desk) -> None:
    plant(desk, group_of("g", "a", "b", "c"))
    desk.client.delete(desk.keys.task("a"))
    desk.client.zrem(desk.keys.state("pending"), "a")
    desk.client.hset(desk.keys.task("b"), "pu", "99999")
    assert told(inspect.parts("g", "default")) == [(1, "a", "gone"), (2, "b", "gone"), (3, "c", "pending")]


def test_what_has_no_parts_and_a_key_of_another_type_have_none(desk: Desk) -> None:
    desk.push("t")
    assert inspect.parts("t", "default") == PartPage(rows=())
    desk.client.set(f"{desk.keys.task('t')}#children", "x")
    desk.client.set(f"{desk.keys.task('t')}#open", "x")
    assert inspect.parts("t", "default") == PartPage(rows=())
    assert inspect.parts("t", "nowhere") == PartPage(rows=())
    assert inspect.task("t") is not None


@pytest.mark.parametrize("after", ["x", "-1", "1e5", "+inf", "²", "1" * 30])
def test_a_position_that_is_none_is_refused(desk: Desk, after: str) -> None:
    with pytest.raises(FilterError):
        inspect.parts("t", "default", after=after)


@pytest.mark.usefixtures("namespace")
def test_an_iterator_tells_what_it_has_begun_and_what_comes_next() -> None:
    handle = Count.push(4)
    desk = Desk(get_broker())
    lease = desk.lease()
    key = desk.keys.task(handle.id)
    assert inspect.parts(handle.id, "default").rows == ()
    desk.push("a", "b", "c")
    uid = desk.client.hget(key, "u")
    for number, name in enumerate("abc"):
        desk.client.hset(desk.keys.task(name), mapping={"pi": handle.id, "pu": uid})
        if name == "b":
            desk.client.sadd(f"{key}#open", name)
        else:
            desk.client.zadd(f"{key}#planted", {name: number})
    page = inspect.parts(handle.id, "default")
    assert told(page) == [(None, "b", "pending"), (None, "a", "pending"), (None, "c", "pending")]
    assert page.open == 1
    desk.client.delete(f"{key}#open", f"{key}#planted")
    assert lease.id == handle.id


@pytest.mark.usefixtures("namespace")
def test_what_an_iterator_runs_comes_in_pages_the_oldest_first_then_what_it_has_planted() -> None:
    handle = Count.push(4)
    desk = Desk(get_broker())
    lease = desk.lease()
    key = desk.keys.task(handle.id)
    uid = desk.client.hget(key, "u")
    names = [f"t{number * 37 % 101}" for number in range(100)]
    desk.push(*names)
    for number, name in enumerate(names):
        desk.client.hset(desk.keys.task(name), mapping={"pi": handle.id, "pu": uid})
        if number < 70:
            desk.client.sadd(f"{key}#open", name)
        else:
            desk.client.zadd(f"{key}#planted", {name: number})
    shown, after = [], ""
    for size in (30, 30, 30, 10):
        page = inspect.parts(handle.id, "default", after=after, limit=30)
        assert (len(page.rows), page.open) == (size, 70)
        shown += [row.id for row in page.rows]
        after = page.next
    assert (shown, after) == (names, "")
    desk.client.delete(f"{key}#open", f"{key}#planted")
    assert lease.id == handle.id


def test_a_part_that_has_ended_is_retried_by_what_it_is_part_of(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    desk.told("cancel", "a")
    part, whole = inspect.task("a"), inspect.task("c")
    assert part is not None
    assert whole is not None
    assert (part.retried_by, whole.retried_by) == ("c", "")
    assert "retry" not in part.allowed
    assert "retry" in whole.allowed
    desk.told("delete", "c")
    alone = inspect.task("a")
    assert alone is not None
    assert "retry" in alone.allowed


def test_why_says_how_many_parts_are_over_and_whose_turn_it_is(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b", group_of("g", "x"), "d"))
    for _ in range(2):
        desk.settle(desk.lease())
    assert reason("c") == "It waits for its parts: 2 of 4 have ended."
    assert reason("g") == "It waits for its parts: 0 of 1 have ended."
    assert reason("d") == "It waits for its turn in chain."
    desk.client.delete(desk.keys.task("c"))
    assert "is gone" in next(finding.text for finding in inspect.why("d") if "turn" in finding.text)


def test_a_task_tells_what_it_is_part_of(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    part, whole = inspect.task("b"), inspect.task("c")
    assert part is not None
    assert whole is not None
    assert (part.parent, part.parent_name, part.parent_state, part.root) == ("c", "chain", "idle", "c")
    assert (whole.parts, whole.parts_open, whole.parent_name) == (2, 2, "")


def test_a_chain_was_never_held_by_a_worker(desk: Desk) -> None:
    plant(desk, chain_of("c", "a"))
    begun = inspect.task("c")
    desk.settle(desk.lease())
    ended = inspect.task("c")
    assert begun is not None
    assert ended is not None
    assert [moment.state for moment in begun.timeline] == ["", "idle"]
    assert [moment.state for moment in ended.timeline] == ["", "idle", "succeeded"]
    assert ended.attempts == ()
