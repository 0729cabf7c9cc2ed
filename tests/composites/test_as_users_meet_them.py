"""What the users of such systems rely on, end to end: templates, nesting, names, generations, restarts."""

from __future__ import annotations

from typing import Any

import pytest

from queueops import Batch, Chain, Group, Iterator, TaskFailed, chain, control, current, get, group, task
from queueops.errors import BadArguments, BadOption
from queueops.errors.tasks import BadTask
from queueops.redis.broker import close_brokers, get_broker
from queueops.testing import run_worker
from tests.composites.work import Count, Later, Steps, note, seen, tell
from tests.kernel.picture import names_like
from tests.support.tasks_for_tests import add

pytestmark = pytest.mark.usefixtures("namespace")

runs: list[int] = []


@task(retries=2)
def begins_again() -> int:
    """Restart itself as long as an attempt is left."""
    runs.append(current().attempt)
    if len(runs) < 3:
        current().restart(0, count_attempt=True)
    return len(runs)


class Nest(Iterator):
    """It emits iterators."""

    def iterate(self, state: int | None, *limits: int) -> Batch | None:
        """One for each limit."""
        number = state or 0
        return Batch(number + 1, [Count.s(limits[number])]) if number < len(limits) else None


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    """Each test counts from nothing."""
    runs.clear()


def test_chained_groups_hand_their_results_on() -> None:
    handle = chain(group(tell.s(1), tell.s(2)), group(tell.s(), tell.si(3)), tell.s()).push()
    run_worker()
    assert handle.result(timeout=60) == [[1, 2], 3]


def test_the_total_of_a_template_is_that_of_the_parts_that_its_init_answers() -> None:
    totals = [(handle.progress.done, handle.progress.total) for handle in (Steps.push(4), Later.push(1, 2, 3))]
    assert totals == [(0, 4), (0, 3)]
    nested = chain(Steps.s(5), Later.s(1, 2).si()).push()
    assert nested.progress.total == 7
    run_worker()
    assert (nested.progress.done, nested.state) == (7, "succeeded")


def test_a_group_template_runs_all_parts_and_answers_their_results_in_order() -> None:
    handle = Later.push(3, 1, 2)
    run_worker()
    assert handle.result(timeout=60) == [3, 1, 2]


def test_templates_and_iterators_are_given_named_arguments_too() -> None:
    assert Steps.push(count=2, start=5).id == "steps:2"
    handle = Count.push(n=4)
    run_worker()
    assert get("steps:2").result(timeout=60) == 7  # type: ignore[union-attr]
    assert handle.state == "succeeded"
    assert sorted(seen) == [0, 1, 2, 3]


@pytest.mark.parametrize("wrong", [((), {}), ((1, 2, 3), {}), ((1,), {"cuont": 2})])
def test_arguments_that_an_init_does_not_take_are_refused_as_those_of_a_task_are(wrong: Any) -> None:
    args, kwargs = wrong
    with pytest.raises(BadArguments, match=r"Steps\(\) cannot be called with these arguments"):
        Steps.push(*args, **kwargs)
    with pytest.raises(BadArguments, match=r"Steps\(\) cannot be called with these arguments"):
        chain(tell.s(1), Steps.si(*args, **kwargs)).push()


@pytest.mark.parametrize("base", [Chain, Group])
def test_a_template_that_answers_no_parts_is_refused_at_the_push(base: Any) -> None:
    class Empty(base):
        """Nothing."""

        name = f"tests.empty.{base.__name__}"

        def init(self) -> list[Any]:
            """Answer nothing."""
            return []

    with pytest.raises(ValueError, match="has no tasks"):
        Empty.push()


def test_an_iterate_that_takes_no_state_is_refused_where_it_stands() -> None:
    with pytest.raises(BadOption, match="its first argument is the state"):
        type("Stateless", (Iterator,), {"iterate": lambda self: None, "__module__": __name__})


@pytest.mark.parametrize("iterate", [5, None, "x"])
def test_an_iterate_that_is_no_function_is_refused_where_it_stands(iterate: Any) -> None:
    with pytest.raises(BadOption, match="iterate"):
        type("Broken", (Iterator,), {"iterate": iterate, "__module__": __name__})


def test_an_iterator_may_emit_iterators_and_fails_with_them() -> None:
    good, bad = Nest.push(3, 2), Nest.push(3, 15)
    run_worker()
    assert good.state == "succeeded"
    assert bad.state == "failed"
    with pytest.raises(TaskFailed, match="ValueError: 13"):
        bad.result(timeout=60)


def test_an_error_deep_within_ends_all_above_it_with_the_way_to_it() -> None:
    handle = group(chain(tell.s(1), group(Count.si(20))), tell.s(2)).push()
    run_worker()
    with pytest.raises(TaskFailed, match="ValueError: 13"):
        handle.result(timeout=60)
    assert handle.status().reason.count("its child") >= 3


def test_however_deep_it_is_the_reason_names_what_failed_in_the_end() -> None:
    tree: Any = note.using(id="culprit").si(13)
    for _ in range(15):
        tree = chain(group(tree))
    handle = tree.push()
    run_worker()
    reason = handle.status().reason
    assert reason.startswith("its child ")
    assert "its child culprit failed" in reason
    assert len(reason) <= 500


@pytest.mark.parametrize("function", [5, "x", object()])
def test_what_is_no_function_is_no_task(function: Any) -> None:
    with pytest.raises(BadTask, match=r"directly above a def|Write @task"):
        task(function)


def test_to_cancel_what_is_not_there_changes_nothing(redis_client: Any) -> None:
    before = len(names_like(redis_client, "*"))
    assert [row.word for row in control.cancel(["nobody"])] == ["GONE"]
    assert len(names_like(redis_client, "*")) == before


def test_what_is_over_is_not_cancelled() -> None:
    handle = chain(tell.s(1), tell.s()).push()
    run_worker()
    assert [row.word for row in control.cancel([handle.id])] == ["REFUSED"]
    assert not handle.cancel()
    assert handle.state == "succeeded"


def test_two_namespaces_know_nothing_of_each_other(settings: Any, redis_client: Any) -> None:
    handle = chain(tell.s(1), tell.s()).push()
    settings.QUEUEOPS = settings.QUEUEOPS | {"NAMESPACE": "another"}
    assert get(handle.id) is None
    run_worker()
    assert not names_like(redis_client, "{another:*}:task:*")
    close_brokers()


def test_a_part_that_restarts_itself_has_its_attempts_and_its_chain_waits() -> None:
    handle = chain(begins_again.s(), add.s(10)).push()
    run_worker()
    assert handle.result(timeout=60) == 13
    assert runs == [1, 2, 3]


def test_a_composite_of_one_id_is_there_once_and_anew_when_it_has_ended() -> None:
    def push() -> Any:
        return chain(note.s(1), note.s()).using(id="once").push()

    first = push()
    assert (first.word, push().word) == ("OK", "EXISTS")
    run_worker()
    assert seen == [1, 1]
    assert push().word == "OK"
    run_worker()
    assert seen == [1, 1, 1, 1]


def test_a_postponed_composite_begins_at_its_time_and_a_second_push_does_not_move_it() -> None:
    handle = Steps.postpone(3600, 2)
    before = get_broker().record("default", handle.id)
    assert Steps.postpone(7200, 2).word == "EXISTS"
    assert get_broker().record("default", handle.id) == before
    assert handle.state == "postponed"
    assert handle.run_now()
    run_worker()
    assert handle.result(timeout=60) == 2
