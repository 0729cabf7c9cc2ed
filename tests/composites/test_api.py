"""Chains and groups as their users push them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from queueops import Group, IdInUse, TaskCancelled, TaskFailed, chain, get, group, inspect, task
from queueops.errors import BadArguments, BadOption, UnknownOption
from queueops.errors.composites import CompositeTooLarge, Cycle, EmptyComposite, IdTwice, NoPart
from queueops.testing import eager, run_worker
from tests.composites.work import Anything, Endless, Later, Nothing, Squares, Steps, push_pair, refuse, tell
from tests.kernel.picture import names_like
from tests.support.tasks_for_tests import add, mail

pytestmark = pytest.mark.usefixtures("namespace")


def test_a_chain_passes_results_on_and_answers_the_last_one() -> None:
    handle = chain(add.s(1, 2), add.s(3), add.s(b=4)).push()
    run_worker()
    assert handle.result(timeout=60) == 10
    status = handle.status()
    assert status.name == "chain"
    assert status.progress.share == 1


def test_a_group_answers_the_list_of_results() -> None:
    handle = group(add.s(1), tell.s(), group(tell.s("x"), Squares.s(4))).push()
    run_worker()
    assert handle.result(timeout=60) == [2, None, ["x", 14]]


def test_a_bar_makes_a_chain() -> None:
    handle = (add.s(1) | group(tell.s(), add.s(5)) | tell.s() | tell.si("end")).push()
    run_worker()
    assert handle.result(timeout=60) == "end"


def test_a_chain_with_a_pool_of_its_own_stays_one_before_a_bar() -> None:
    inner = chain(add.s(1, 2), tell.s())
    assert len((inner | tell.s()).parts) == 3
    inner = inner.using(pool="default")
    assert (inner | tell.s()).parts[0] is inner


def test_a_map_reduce_task_takes_the_result_before_it() -> None:
    handle = chain(add.s(1, 2), Squares.s(), add.s(1)).push()
    run_worker()
    assert handle.result(timeout=60) == 6


def test_a_failure_is_raised_by_the_handle_and_says_which_task_it_was() -> None:
    handle = chain(tell.s(1), refuse.s(), tell.s()).push()
    run_worker()
    with pytest.raises(TaskFailed, match="ValueError: no"):
        handle.result(timeout=60)
    assert "its child" in handle.status().reason


def test_a_composite_is_cancelled_by_its_handle() -> None:
    handle = chain(tell.s(1), tell.s()).push()
    assert get(handle.id).cancel("enough")
    run_worker()
    with pytest.raises(TaskCancelled, match="enough"):
        handle.result(timeout=60)


def test_a_template_computes_its_parts_and_its_id() -> None:
    handle = Steps.push(3, start=4)
    assert handle.id == "steps:3"
    assert Steps.push(3).word == "EXISTS"
    run_worker()
    assert handle.result(timeout=60) == 7
    assert handle.status().name == "tests.composites.work.Steps"
    assert Steps.push(3).word == "OK"


def test_a_template_may_be_part_of_a_composite_and_take_the_result_before_it() -> None:
    handle = chain(tell.s(5), Later.s(1, 2).si(), tell.s()).push()
    run_worker()
    assert handle.result(timeout=60) == [1, 2]


def test_async_code_pushes_composites_too() -> None:
    handle = asyncio.run(Later.apush(3, 4))
    run_worker()
    assert handle.result(timeout=60) == [3, 4]


def test_options_of_the_tasks_and_of_the_composite_hold() -> None:
    handle = chain(add.using(priority=7, tags=["t"], id="first").s(1), tell.s()).using(id="c", tags=["all"]).push()
    assert handle.id == "c"
    assert handle.status().tags == ("all",)
    assert get("first").status().priority == 7
    with pytest.raises(IdInUse):
        chain(tell.s(1)).using(id="c", on_conflict="reject").push()


def test_a_composite_that_a_task_pushes_has_its_root() -> None:
    handle = push_pair.push(1)
    run_worker()
    pair = get(handle.result(timeout=60))
    assert pair.result(timeout=60) == [2, 3]
    assert pair.progress.done == 2
    assert pair._record().root == handle.id


def test_eagerly_a_composite_runs_within_its_push() -> None:
    with eager():
        assert chain(add.s(1, 2), group(tell.s(), add.s(1)), tell.s()).push().result() == [3, 4]
        failed = group(tell.s(1), refuse.s(), tell.s(3)).push()
        assert failed.state == "failed"
        outcomes = group(refuse.s(), Squares.s(3), on_failure="outcomes").push().result()
        assert [outcome["state"] for outcome in outcomes] == ["failed", "succeeded"]
        with pytest.raises(TaskFailed):
            chain(group(refuse.s(), tell.s(1), on_failure="continue"), tell.s()).push().result()


def test_the_parts_may_come_in_one_list_or_from_a_generator() -> None:
    with eager():
        assert group(add.s(number) for number in range(3)).push().result() == [1, 2, 3]
        assert chain([add.s(1), group([add.s(1), add.s(2)])]).push().result() == [3, 4]
    with pytest.raises(EmptyComposite):
        group(add.s(number) for number in ()).push()
    for wrong in ("ab", [add], [[add.s(1)], add.s(2)], 5):
        with pytest.raises(NoPart):
            group(wrong)


class NoCharts(Group):
    """A group template whose parts are none today."""

    def init(self, previous: Any = None) -> list[Any]:
        """Answer no parts."""
        return []


@pytest.mark.parametrize("pool", ["default", "mail"])
@pytest.mark.parametrize(
    ("tree", "result"),
    [
        (lambda part: chain(part(1), group(), tell.s()), []),
        (lambda part: chain(group(), tell.s()), []),
        (lambda part: chain(part(1), group()), []),
        (lambda part: chain(part(1), group(on_failure="outcomes"), group(tell.s(), part(2))), [[], 2]),
        (lambda part: group(group(), part(1), chain(group(), group())), [[], 1, []]),
        (lambda part: chain(part(1), NoCharts.s(), tell.s()), []),
        (lambda part: chain(group(on_failure="continue"), chain(group(), group())), []),
    ],
)
def test_an_empty_group_within_a_composite_gives_an_empty_list(
    namespace: str, pool: str, tree: Callable[[Any], Any], result: Any
) -> None:
    whole = tree(tell.using(pool=pool).si)
    with eager():
        assert whole.push().result() == result
    handle = whole.push()
    run_worker()
    assert handle.result(timeout=5) == result
    assert handle.progress.done == handle.progress.total
    assert handle.retry()
    run_worker()
    assert handle.result(timeout=5) == result


@task(name="tests.deaf")
def deaf() -> None:
    """Take nothing."""


def test_what_is_wrong_is_said_at_the_push_and_nothing_is_written(redis_client) -> None:
    with pytest.raises(EmptyComposite, match=r"^The chain has no tasks\."):
        chain().push()
    with pytest.raises(EmptyComposite, match=r"^The group has no tasks\."):
        group().push()
    with pytest.raises(EmptyComposite, match=r"^The chain has no tasks\."):
        chain(add.s(1, 2), chain()).push()
    with pytest.raises(BadArguments, match=r"but 1 was given\. The previous task's result .* Use \.si\(\) to leave"):
        chain(add.s(1), deaf.s()).push()
    with pytest.raises(NoPart, match="cannot be part of chain"):
        chain(add, add)
    with pytest.raises(NoPart, match="init"):
        Nothing.push()
    with pytest.raises(Cycle, match="Endless"):
        Endless.push()
    with pytest.raises(IdTwice, match="x"):
        group(tell.using(id="x").s(1), tell.using(id="x").s(2)).push()
    with pytest.raises(BadOption, match="on_failure"):
        group(tell.s(1), on_failure="ignore")
    with pytest.raises(BadOption, match="on_conflict"):
        chain(tell.s(1)).using(on_conflict="replace")
    with pytest.raises(UnknownOption, match="retries"):
        chain(tell.s(1)).using(retries=3)
    with pytest.raises(CompositeTooLarge, match=r"10000 tasks.*Iterator"):
        group(*[tell.s()] * 10_000).push()
    with pytest.raises(BadArguments, match="must be given"):
        chain(add.s()).push()
    with pytest.raises(BadArguments, match="at most 2"):
        chain(add.s(1), add.s(1, 2)).push()
    with pytest.raises(BadArguments, match="b"):
        chain(add.s(1), add.s("x")).push()
    with pytest.raises(BadArguments, match="its unique= needs"):
        chain(add.s(1), mail.s("x")).push()
    assert not names_like(redis_client, "*:task:*")


def test_parts_may_be_in_any_pool() -> None:
    north, south = add.using(pool="north"), tell.using(pool="south")
    tree = chain(add.s(1), north.s(2), group(south.s(), chain(north.s(3), south.s())), tell.s()).using(pool="home")
    handle = tree.push()
    run_worker()
    assert handle.result(timeout=60) == [4, 7]
    assert (handle.progress.done, handle.progress.total) == (6, 6)


def test_cancelling_reaches_the_parts_in_other_pools() -> None:
    parts = [tell.using(pool=pool, id=f"in-{pool}").s(1) for pool in ("north", "south")]
    handle = group(*parts).using(pool="home").push()
    assert handle.cancel("enough")
    run_worker()
    assert [get(f"in-{pool}").state for pool in ("north", "south")] == ["cancelled", "cancelled"]


def test_a_template_tells_what_it_was_called_with_where_that_is_short_data() -> None:
    shown = {
        value: inspect.task(Later.push(*given).id).args  # type: ignore[union-attr]
        for value, given in (("data", (1, 2)), ("long", tuple(range(2000))))
    }
    assert shown == {"data": "1, 2", "long": ""}
    assert inspect.task(Anything.push(object()).id).args == ""  # type: ignore[union-attr]
