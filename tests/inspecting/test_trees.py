"""The trees of chains, groups and iterators, as inspect tells them: as much as one page holds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from queueops import chain, group, inspect
from queueops.eager.execution import run
from queueops.errors import FilterError
from queueops.inspect import Branch, Part, Tree
from queueops.kinds.composites.inspect.trees import PAGE, ROWS
from queueops.model.contracts import RoundTrip
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.composites.channel import CHANNEL
from tests.composites.trees import chain_of, group_of, plant
from tests.composites.work import Brief, Burst, Count, note
from tests.kernel.desk import Desk
from tests.support.for_each import for_each


def read(id: str, **more: object) -> Branch:
    """The parts of a task of the usual pool."""
    found = inspect.tree(id, "default", **more).root  # type: ignore[arg-type]
    assert found is not None
    return found


def told(branch: Branch) -> list[tuple[int | None, str, str]]:
    """Number, id and state of each row."""
    return [(row.number, row.id, row.task.state if row.task else "gone") for row in branch.rows]


def all_rows(branch: Branch) -> Iterator[Part]:
    """Each row, from the top down."""
    for row in branch.rows:
        yield row
        if row.branch:
            yield from all_rows(row.branch)


def ids(branch: Branch | None) -> list[str]:
    assert branch is not None
    return [row.id for row in branch.rows]


def reason(id: str) -> str:
    return next(finding.text for finding in inspect.why(id) if not finding.ok)


def test_parts_come_in_their_order_with_theirs_below(desk: Desk) -> None:
    plant(desk, chain_of("c", "b", group_of("a", "x", "y"), "z"))
    desk.settle(desk.lease())
    root = read("c")
    assert told(root) == [(1, "b", "succeeded"), (2, "a", "idle"), (3, "z", "waiting")]
    assert (root.total, root.open, root.ended, root.next) == (3, 2, 1, "")
    assert root.counts == (("waiting", 1), ("idle", 1), ("succeeded", 1))
    assert [row.task.kind for row in root.rows if row.task] == ["task", "group", "task"]
    assert root.rows[0].begun_ms is not None
    assert root.rows[0].ended_ms is not None
    assert [row.branch is None for row in root.rows] == [True, False, True]
    below = root.rows[1].branch
    assert below is not None
    assert told(below) == [(1, "x", "pending"), (2, "y", "pending")]
    assert below.counts == (("pending", 2),)


def test_pages_follow_each_other(desk: Desk) -> None:
    names = [f"t{number:03d}" for number in range(103)]
    plant(desk, group_of("g", *reversed(names)))
    first = read("g")
    second = read("g", after=first.next)
    last = read("g", after=second.next)
    assert [len(page.rows) for page in (first, second, last)] == [50, 50, 3]
    assert [row.id for page in (first, second, last) for row in page.rows] == names[::-1]
    assert [(page.first, page.behind) for page in (first, second, last)] == [(0, 53), (50, 3), (100, 0)]
    assert last.rows[-1].number == 103
    assert not last.next


def test_a_long_chain_is_shown_from_where_it_stands(desk: Desk) -> None:
    plant(desk, chain_of("c", *(f"t{number:03d}" for number in range(200))))
    assert read("c").first == 0
    for _ in range(120):
        desk.settle(desk.lease())
    page = read("c")
    assert (page.first, page.rows[3].id, page.behind) == (117, "t120", 33)
    assert [row.task.state for row in page.rows[:5] if row.task] == ["succeeded"] * 3 + ["pending", "waiting"]
    assert read("c", after="0").rows[0].id == "t000"
    desk.drain()
    assert read("c").first == 150  # the end of it


def test_a_page_holds_so_many_rows_however_large_the_tree_is(desk: Desk) -> None:
    plant(desk, group_of("g", *(group_of(f"g{i}", *(f"t{i}-{j}" for j in range(30))) for i in range(60))))
    root = read("g")
    assert len(root.rows) == PAGE
    assert sum(1 for _ in all_rows(root)) <= ROWS
    shut = [row.branch for row in root.rows if row.branch and not row.branch.rows]
    assert shut
    assert all((branch.total, branch.behind, branch.next) == (30, 30, "0") for branch in shut)
    assert sum(sum(dict(row.branch.counts).values()) for row in root.rows if row.branch) <= 500  # so many are counted


def test_a_branch_that_was_shut_is_opened_by_its_name(desk: Desk) -> None:
    plant(desk, group_of("g", *(group_of(f"g{i}", *(f"t{i}-{j}" for j in range(30))) for i in range(60))))
    branch = next(row.branch for row in read("g", opened=["g49"]).rows if row.id == "g49")
    assert ids(branch) == [f"t49-{j}" for j in range(30)]


def test_a_branch_in_which_something_goes_on_is_open_before_those_that_are_over(desk: Desk) -> None:
    parts = [chain_of(f"c{i}", *(f"t{i}-{j}" for j in range(5))) for i in range(45)]
    plant(desk, group_of("g", *parts))
    for lease in desk.claim(500):
        if lease.id.startswith(("t0-", "t1-")):
            desk.settle(lease)
    for _ in range(8):
        for lease in desk.claim(500):
            desk.settle(lease)
    root = read("g")
    states = {row.id: row.task.state for row in root.rows if row.task}
    assert (states["c0"], states["c44"]) == ("succeeded", "idle")
    open_ones = [row.id for row in root.rows if row.branch and row.branch.rows]
    assert len(open_ones) > 5
    assert all(states[name] == "idle" for name in open_ones)


def test_a_deep_tree_is_shown_some_levels_deep(desk: Desk) -> None:
    tree = chain_of("c300", "leaf")
    for number in range(299, -1, -1):
        tree = chain_of(f"c{number}", tree)
    plant(desk, tree)
    rows = list(all_rows(read("c0")))
    assert [row.id for row in rows] == ["c1", "c2", "c3", "c4"]
    last = rows[-1].branch
    assert last is not None
    assert (last.total, last.rows, last.counts) == (1, (), (("idle", 1),))
    assert len(list(all_rows(read("c0", opened=[f"c{number}" for number in range(20)])))) == 9
    above = inspect.tree("c150", "default").above
    assert [each.id for each in above] == [f"c{number}" for number in range(149, 141, -1)]
    assert {(each.kind, each.state, each.pool) for each in above} == {("chain", "idle", "default")}


def test_what_failed_is_found_among_many(desk: Desk) -> None:
    plant(desk, group_of("g", *(f"t{number:04d}" for number in range(1500)), of="continue"))
    assert read("g").counts == ()  # too many to be counted
    for id in ("t1234", "t0007"):
        assert desk.told("cancel", id) == "OK"
    found = read("g", show="failed")
    assert told(found) == [(8, "t0007", "cancelled"), (1235, "t1234", "cancelled")]
    assert not found.next


def test_a_search_among_very_many_goes_on_where_its_budget_ended(desk: Desk) -> None:
    plant(desk, group_of("g", *(f"t{number:04d}" for number in range(4000)), of="continue"))
    assert desk.told("cancel", "t3900") == "OK"
    first = read("g", show="failed")
    assert (first.rows, first.next) == ((), "2000")
    assert ids(read("g", show="failed", after=first.next)) == ["t3900"]


def test_what_has_not_ended_is_shown_alone_at_every_level(desk: Desk) -> None:
    plant(desk, group_of("g", "a", chain_of("c", "x", "y"), of="continue"))
    for lease in desk.claim(2):
        desk.settle(lease)
    root = read("g", show="open")
    assert ids(root) == ["c"]
    assert ids(root.rows[0].branch) == ["y"]
    assert root.counts == (("idle", 1), ("succeeded", 1))


def test_a_part_whose_record_is_gone_or_another_ones_is_said_to_be_gone(desk: Desk) -> None:
    plant(desk, group_of("g", "a", "b", "c"))
    desk.client.delete(desk.keys.task("a"))
    desk.client.zrem(desk.keys.state("pending"), "a")
    desk.client.hset(desk.keys.task("b"), "pu", "99999")
    assert told(read("g")) == [(1, "a", "gone"), (2, "b", "gone"), (3, "c", "pending")]
    assert read("g").counts == (("pending", 1), ("gone", 2))


@pytest.mark.usefixtures("namespace")
def test_a_part_in_another_pool_is_shown_with_its_state_there() -> None:
    get_broker().beat("default", "w1", {"host": "h"})  # it is left to this worker to tell the other pool
    handle = group(note.s(1), note.using(pool="mail", id="far").s(2), chain(note.using(pool="mail").s(3))).push()
    (near, far, chained) = read(handle.id).rows
    assert (near.elsewhere, far.elsewhere, chained.elsewhere) == (False, True, False)
    assert far.task is not None
    assert (far.id, far.pool, far.task.pool, far.task.name, far.task.state) == (
        "far",
        "mail",
        "mail",
        note.name,
        "waiting",
    )
    assert read(handle.id).counts == (("waiting", 1), ("pending", 1), ("idle", 1))
    (above,) = inspect.tree("far", "mail").above
    assert (above.id, above.pool, above.name) == (handle.id, "default", "")
    client, keys = get_broker().client, get_broker().keys("mail")
    client.hset(keys.task("far"), "pi", "another")
    assert [row.task is None for row in read(handle.id).rows] == [False, True, False]
    assert read(handle.id).counts == (("pending", 1), ("idle", 1), ("gone", 1))
    client.delete(keys.task("far"))
    client.zrem(keys.state("waiting"), "far")
    assert [row.task is None for row in read(handle.id).rows] == [False, True, False]


def test_what_has_no_parts_and_a_key_of_another_type_have_none(desk: Desk) -> None:
    desk.push("t")
    assert inspect.tree("t", "default") == Tree()
    desk.client.hset(desk.keys.task("t"), "cc", 3)
    desk.client.set(f"{desk.keys.task('t')}#children", "x")
    desk.client.set(f"{desk.keys.task('t')}#open", "x")
    assert read("t").rows == ()
    assert inspect.tree("t", "nowhere") == Tree()
    assert inspect.tree("t", "no pool") == Tree()
    assert inspect.task("t") is not None


@for_each("after", ["x", "-1", "1e5", "+inf", "\u00b2", "1" * 30, "g", "gx", "g-1", "g" + "1" * 30, "e", "e-1"])
def test_a_position_that_is_none_is_refused(desk: Desk, after: str) -> None:
    with pytest.raises(FilterError):
        inspect.tree("t", "default", after=after)
    with pytest.raises(FilterError):
        inspect.tree("t", "default", show="nonsense")


@pytest.mark.usefixtures("namespace")
def test_parts_in_another_pool_that_are_not_shown_are_counted_as_such() -> None:
    get_broker().beat("default", "w1", {"host": "h"})  # it is left to this worker to tell the other pool
    handle = group(note.s(0), *(note.using(pool="mail").s(number) for number in range(60))).push()
    assert read(handle.id).counts == (("waiting", 49), ("pending", 1), ("elsewhere", 11))


@pytest.mark.usefixtures("namespace")
def test_what_failed_in_another_pool_is_shown_alone_as_anywhere() -> None:
    part = note.using(pool="mail", retries=0)
    handle = group(note.s(1), part.s(2), part.s(13), chain(part.s(13)), on_failure="continue").push()
    run_worker(pools=["default", "mail"])
    handle_parts = read(handle.id).rows
    assert [row.task.state for row in handle_parts] == ["succeeded", "succeeded", "failed", "failed"]
    failed = read(handle.id, show="failed")
    assert ids(failed) == [row.id for row in handle_parts[2:]]
    assert read(handle.id, show="open").rows == ()


@pytest.mark.usefixtures("namespace")
def test_an_iterator_tells_what_it_has_begun_and_what_comes_next() -> None:
    handle = Count.push(4)
    desk = Desk(get_broker())
    lease = desk.lease()
    key = desk.keys.task(handle.id)
    assert read(handle.id).rows == ()
    begun, planned = [f"b{number:02d}" for number in range(60)], ["p0", "p1"]
    desk.push(*begun, *planned)
    uid = desk.client.hget(key, "u")
    for name in begun + planned:
        desk.client.hset(desk.keys.task(name), mapping={"pi": handle.id, "pu": uid})
    desk.client.sadd(f"{key}#open", *begun)
    desk.client.zadd(f"{key}#planted", {name: number for number, name in enumerate(planned)})
    generation = int(desk.client.hget(desk.keys.task("b50"), "u"))
    page = read(handle.id)
    assert (page.total, page.open, page.behind, ids(page), page.next) == (None, 60, None, begun[:50], f"g{generation}")
    last = read(handle.id, after=page.next)
    assert (ids(last), last.next) == (begun[50:] + planned, "")
    assert {row.number for row in last.rows} == {None}
    assert page.counts == (("pending", 62),)
    desk.client.delete(f"{key}#open", f"{key}#planted")
    assert lease.id == handle.id


@pytest.mark.usefixtures("namespace")
def test_an_iterator_tells_what_has_ended_the_latest_first_and_what_failed_alone() -> None:
    handle = Burst.push(20)
    run_worker()
    page = read(handle.id)
    assert page.counts == (("succeeded", 19), ("failed", 1))
    assert (page.open, page.next, len(page.rows)) == (0, "", 20)
    generations = [get_broker().record("default", row.id).uid for row in page.rows]
    ended = [row.ended_ms for row in page.rows]
    assert ended == sorted(ended, reverse=True), generations
    (failed,) = read(handle.id, show="failed").rows
    assert (failed.task.state, failed.task.error) == ("failed", "ValueError: 13")
    assert "retry" in failed.task.allowed
    assert read(handle.id, show="open").rows == ()


@pytest.mark.usefixtures("namespace")
def test_pages_of_what_an_iterator_has_ended_follow_each_other_and_are_as_long_for_very_many() -> None:
    handle = Burst.push(260)
    run_worker()
    first = read(handle.id)
    last = read(handle.id, after=first.next)
    assert [len(first.rows), len(last.rows), last.next] == [50, 50, ""]
    assert len({*ids(first), *ids(last)}) == 100
    assert first.counts == (("succeeded", 259), ("failed", 1))
    desk = Desk(get_broker())
    assert desk.client.llen(f"{desk.keys.task(handle.id)}#latest") == 100


@pytest.mark.usefixtures("namespace")
def test_of_an_iterators_tasks_that_are_not_kept_the_numbers_stay() -> None:
    handle = Brief.push(6)
    run_worker()
    desk = Desk(get_broker())
    for _ in range(2):
        desk.tick()
    page = read(handle.id)
    assert (page.rows, page.counts) == ((), (("succeeded", 6),))


@pytest.mark.usefixtures("namespace")
def test_tasks_that_were_cancelled_with_their_iterator_are_shown_and_counted() -> None:
    handle = Burst.push(5)
    desk = Desk(get_broker())
    desk.broker.exchange("default", "w1", RoundTrip(settle=[run(desk.lease(), CHANNEL)]))
    assert handle.cancel("enough")
    page = read(handle.id)
    assert page.counts == (("cancelled", 5),)
    assert {row.task.state for row in page.rows} == {"cancelled"}
    assert len(read(handle.id, show="failed").rows) == 5


@pytest.mark.usefixtures("namespace")
def test_a_part_of_an_iterator_that_is_part_of_a_group_is_shown_below_it_though_it_has_ended() -> None:
    handle = group(Burst.s(3), note.s(50)).push()
    run_worker()
    (iterator, _) = read(handle.id).rows
    assert [row.task.state for row in iterator.branch.rows] == ["succeeded"] * 3
    assert iterator.branch.counts == (("succeeded", 3),)


def test_a_part_that_has_ended_is_retried_by_what_it_is_part_of(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    desk.told("cancel", "a")
    part, whole = inspect.task("a"), inspect.task("c")
    assert part is not None
    assert whole is not None
    assert (part.retried_by, whole.retried_by) == ("c", "")
    assert not {"retry", "edit"} & set(part.allowed)
    assert not any({"retry", "edit"} & set(row.task.allowed) for row in read("c").rows if row.task)
    assert "retry" in whole.allowed
    desk.told("delete", "c")
    alone = inspect.task("a")
    assert alone is not None
    assert {"retry", "edit"} <= set(alone.allowed)


def test_why_says_how_many_parts_are_over_and_whose_turn_it_is(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b", group_of("g", "x"), "d"))
    for _ in range(2):
        desk.settle(desk.lease())
    assert reason("c") == "The task waits for its parts: 2 of 4 have ended."
    assert reason("g") == "The task waits for its parts: 0 of 1 have ended."
    assert reason("d") == "The part waits for its turn in chain."
    desk.client.delete(desk.keys.task("c"))
    assert "does not exist any more" in next(finding.text for finding in inspect.why("d") if "turn" in finding.text)


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


def test_a_part_of_a_chain_knows_what_comes_before_and_behind(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", group_of("g", "x", "y"), "z"))
    desk.settle(desk.lease())
    found = {id: inspect.task(id) for id in ("a", "g", "x", "z")}
    beside = {
        id: (task.number, task.siblings, task.before and task.before.id, task.behind and task.behind.id)
        for id, task in found.items()
        if task
    }
    assert beside == {"a": (1, 3, None, "g"), "g": (2, 3, "a", "z"), "x": (1, 2, None, None), "z": (3, 3, "g", None)}
    assert found["g"] is not None
    assert found["g"].before is not None
    assert found["g"].before.state == "succeeded"
