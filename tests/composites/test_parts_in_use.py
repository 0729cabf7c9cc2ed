"""Parts whose ids are in use: they join the running task, are left out, or refuse the composite, by `on_conflict`."""

from __future__ import annotations

from typing import Any

import pytest

from queueops import Batch, Iterator, RetryLater, TaskFailed, chain, control, current, group, inspect, task
from queueops.errors import IdInUse
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.kernel import invariants
from tests.support.tasks_for_tests import add

ran: list[str] = []


@task(unique="double:{number}", retries=1)
def double(number: int, how: str = "well") -> int:
    """Note each start."""
    ran.append(f"{number} {how}")
    if how == "later" and current().attempt == 1:
        raise RetryLater(0)
    if how == "badly":
        raise ValueError("no")
    return 2 * number


@pytest.fixture(autouse=True)
def nothing_ran(namespace: str) -> None:
    ran.clear()


def sound() -> None:
    """The store is consistent, and no task waits for ever."""
    assert get_broker().check("default").faults == ()
    invariants.check(get_broker(), "default")


def parts_of(handle: Any) -> list[Any]:
    return [get_broker().record(part.pool, part.id) for part in get_broker().parts(handle.pool, handle.id)]


@pytest.mark.parametrize("how", ["well", "later"])
def test_a_part_joins_the_task_that_has_its_id_and_gets_its_result(how: str) -> None:
    first = double.push(4, how)
    whole = group(double.s(4), add.s(1, 1)).push()
    after = chain(double.si(4), add.s(1)).push()
    run_worker()
    assert whole.result(timeout=5) == [8, 2]
    assert after.result(timeout=5) == 9
    assert first.result(timeout=5) == 8
    assert ran == ["4 well"] if how == "well" else ["4 later"] * 2
    progress = whole.progress
    assert progress is not None
    assert (progress.done, progress.total) == (2, 2)
    sound()


def test_a_part_whose_turn_comes_after_that_end_pushes_the_task_anew() -> None:
    double.push(4)
    whole = chain(add.s(1, 1), double.using(id="double:4").s()).push()
    control.cancel([double.push(5).id])
    locked = double.using(unique_for=3600)
    locked.push(6)
    kept = chain(add.s(1, 1), locked.si(6)).push()  # its id is locked after the end: it takes that result
    alone = chain(add.s(2, 2), double.using(id="double:5").s("anew")).push()
    run_worker()
    assert whole.result(timeout=5) == 4
    assert alone.result(timeout=5) == 8
    assert kept.result(timeout=5) == 12
    assert sorted(ran) == ["2 well", "4 anew", "4 well", "6 well"]
    sound()


def test_a_part_that_skips_is_left_out_while_the_id_is_in_use() -> None:
    double.using(on_conflict="ignore").postpone(3600, 4)
    skipping = double.using(on_conflict="skip")
    whole = group(skipping.s(4), add.s(1, 1)).push()
    after = chain(add.s(1, 1), skipping.using(id="double:4").s(), add.s(1)).push()
    run_worker()
    assert whole.result(timeout=5) == [None, 2]
    assert after.result(timeout=5) == 3
    assert skipping.push(4).state == "postponed"  # of a push it is the same as ignore
    assert ran == []
    sound()


def test_a_part_that_rejects_refuses_the_whole_and_nothing_is_written() -> None:
    double.push(4)
    with pytest.raises(IdInUse, match=r'double:4.* by on_conflict="ignore", or be left out, by "skip"'):
        group(add.s(1, 1), double.using(on_conflict="reject").s(4)).push()
    with pytest.raises(IdInUse, match="double:4"):
        group(add.s(1, 1), double.using(delay=60).s(4)).push()  # a delay belongs to the one that is there
    run_worker()
    assert ran == ["4 well"]


class Doubles(Iterator):
    """Doubles numbers, of which one is under way."""

    window = 2

    def iterate(self, state):
        start = state or 0
        tasks = [double.s(number) for number in range(start, start + 3)]
        return Batch(state=start + 3, tasks=tasks) if start < 6 else None


def test_tasks_of_an_iterator_join_too() -> None:
    whole = Doubles.push()
    double.push(1)  # it is in use when the iterator runs
    run_worker()
    assert whole.state == "succeeded"
    assert sorted(ran) == [f"{number} well" for number in range(6)]
    sound()


@pytest.mark.parametrize("ends", ["failed", "cancelled"])
def test_the_composite_ends_with_the_task_that_its_part_joins_and_a_retry_pushes_it_anew(ends: str) -> None:
    first = double.using(retries=0).push(4, "badly")
    whole = group(double.s(4), add.s(1, 1)).push()
    if ends == "cancelled":
        first.cancel("not needed")
    run_worker()
    assert first.state == ends
    assert whole.state == "failed"
    with pytest.raises(TaskFailed, match="no" if ends == "failed" else "not needed"):
        whole.result(timeout=5)
    sound()
    assert whole.retry()
    run_worker()
    assert whole.result(timeout=5) == [8, 2]
    assert ran == (["4 badly", "4 well"] if ends == "failed" else ["4 well"])
    sound()


def test_a_cancel_of_the_composite_leaves_the_joined_task_alone() -> None:
    first = double.push(4)
    whole = group(double.s(4)).push()
    (part,) = parts_of(whole)
    assert (part.state, part.name) == ("idle", double.name)
    sound()
    assert "waits for the end of the task double:4" in str(inspect.why(part.id))
    whole.cancel("enough")
    run_worker()
    assert first.result(timeout=5) == 8
    assert [part.state for part in parts_of(whole)] == ["cancelled"]
    sound()


def test_the_watchdog_finds_a_part_that_no_end_has_told() -> None:
    double.push(4)
    gone = group(double.s(4)).push()
    broker = get_broker()
    client, keys = broker.at("default"), broker.keys("default")
    client.hdel(keys.task("double:4"), "hw")
    run_worker()
    assert gone.state == "idle"
    client.zadd(keys.state("idle"), dict.fromkeys(client.zrange(keys.state("idle"), 0, -1), 1))  # for long
    broker.tick("default")
    assert gone.result(timeout=5) == [8]
    sound()
