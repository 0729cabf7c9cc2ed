"""A result comes as the return annotation says, as arguments come as theirs say."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from queueops import BadResult, TaskFailed, chain, get, group
from queueops.errors import NotDecodable
from queueops.redis.broker import get_broker
from queueops.results.handle import TaskHandle
from queueops.testing import eager, run_worker
from tests.support import results_for_tests as tasks
from tests.support.for_each import for_each
from tests.support.results_for_tests import DAY

NEXT, ID = DAY + timedelta(days=1), UUID(int=7)
Ask = Callable[[TaskHandle[Any]], Any]


@contextmanager
def _worker(request: pytest.FixtureRequest) -> Iterator[Callable[[], Any]]:
    request.getfixturevalue("namespace")
    yield run_worker


@contextmanager
def _eager(request: pytest.FixtureRequest) -> Iterator[Callable[[], Any]]:
    with eager():
        yield lambda: None


@pytest.fixture(params=[_worker, _eager], ids=["worker", "eager"])
def end(request: pytest.FixtureRequest) -> Iterator[Callable[[], Any]]:
    """Lets end what was pushed."""
    with request.param(request) as end:
        yield end


def of_the_push(handle: TaskHandle[Any]) -> Any:
    return handle.result(timeout=60)


def of_the_id(handle: TaskHandle[Any]) -> Any:
    found = get(handle.id)
    assert found is not None
    return found.result(timeout=60)


def in_a_loop(handle: TaskHandle[Any]) -> Any:
    return asyncio.run(handle.aresult(timeout=60))


@pytest.fixture(params=[of_the_push, of_the_id, in_a_loop])
def ask(request: pytest.FixtureRequest) -> Ask:
    """How the result is asked for."""
    found: Ask = request.param
    return found


PUSHED: dict[str, tuple[Callable[[], TaskHandle[Any]], Any]] = {
    "a date": (lambda: tasks.next_day.push(DAY), NEXT),
    "of a coroutine": (lambda: tasks.next_day_later.push(DAY), NEXT),
    "a data class": (lambda: tasks.order.push(ID, DAY), tasks.Order(ID, DAY, Decimal("9.90"))),
    "a container": (tasks.colours.push, {1: {tasks.Colour.RED}}),
    "a tuple": (tasks.pair.push, (b"\x00\xff", timedelta(minutes=1))),
    "one of two": (lambda: tasks.maybe.push(DAY), DAY),
    "none": (tasks.maybe.push, None),
    "what JSON cannot tell apart": (lambda: tasks.ambiguous.push(DAY), DAY.isoformat()),
    "by an annotation that cannot be resolved": (lambda: tasks.unresolved.push(DAY), DAY.isoformat()),
    "without an annotation": (lambda: tasks.unannotated.push(DAY), DAY.isoformat()),
    "anything": (lambda: tasks.anything.push(DAY), DAY.isoformat()),
    "yields": (lambda: tasks.days.push(DAY, 2), [DAY, NEXT]),
    "no yields": (lambda: tasks.days.push(DAY, 0), []),
    "yields on the loop": (lambda: tasks.days_later.push(DAY, 2), [DAY, NEXT]),
    "what a generator returns": (lambda: tasks.last_day.push(DAY, 1), NEXT),
    "what a generator may return": (lambda: tasks.maybe_last_day.push(DAY, 3), Decimal(3)),
    "yields of one that may return": (lambda: tasks.maybe_last_day.push(DAY, 0), [DAY]),
    "a reduce": (lambda: tasks.Latest.push(DAY, NEXT), NEXT),
    "a reduce of no chunks, as it fits": (lambda: tasks.maybe.push(), None),
    "a chain": (lambda: chain(tasks.unannotated.s(DAY), tasks.next_day.s()).push(), NEXT),
    "a chain of a plain part": (lambda: chain(tasks.next_day.s(DAY), tasks.unannotated.s()).push(), NEXT.isoformat()),
    "a group": (
        lambda: group(tasks.next_day.s(DAY), tasks.unannotated.s(DAY), tasks.days.s(DAY, 1)).push(),
        [NEXT, DAY.isoformat(), [DAY]],
    ),
    "a wide group": (lambda: group(tasks.next_day.s(DAY) for _ in range(600)).push(), [NEXT] * 600),
    "nested": (
        lambda: group(
            chain(tasks.next_day.s(DAY), group(tasks.next_day.s(), tasks.Latest.s())), tasks.maybe.s()
        ).push(),
        [[NEXT + timedelta(days=1), NEXT], None],
    ),
    "a chain that computes its parts": (lambda: tasks.Twice.push(DAY), NEXT + timedelta(days=1)),
    "a group over two pools": (lambda: tasks.Both.push(ID, DAY), [NEXT, [[NEXT], NEXT.isoformat()]]),
}


@for_each("case", PUSHED)
def test_a_result_is_converted_by_the_return_annotation(end: Callable[[], Any], ask: Ask, case: str) -> None:
    push, expected = PUSHED[case]
    handle = push()
    end()
    found = ask(handle)
    assert found == expected
    assert type(found) is type(expected)


def test_the_outcomes_of_a_group_have_converted_results(end: Callable[[], Any], ask: Ask) -> None:
    handle = group(tasks.next_day.s(DAY), tasks.broken.using(retries=0).s(), on_failure="outcomes").push()
    end()
    good, bad = ask(handle)
    assert good == {"state": "succeeded", "result": NEXT}
    assert (bad["state"], bad["error"]["message"]) == ("failed", "no day")


def test_a_result_that_does_not_fit_its_annotation_is_an_error_that_has_the_value(
    end: Callable[[], Any], ask: Ask
) -> None:
    handle = tasks.unfit.push({"a": [1]})
    end()
    with pytest.raises(BadResult) as caught:
        ask(handle)
    assert str(caught.value) == (
        "The result of tests.support.results_for_tests.unfit does not fit its return annotation int: "
        "Expected `int`, got `object`. "
        "Correct the annotation, or read the plain value from the attribute value of this error."
    )
    assert caught.value.value == {"a": [1]}
    assert pickle.loads(pickle.dumps(caught.value)).value == {"a": [1]}
    assert handle.state == "succeeded"


def test_a_missing_result_does_not_fit_an_annotation_without_none(end: Callable[[], Any], ask: Ask) -> None:
    handle = tasks.unfit.push(None)
    end()
    with pytest.raises(BadResult, match="Expected `int`, got `null`"):
        ask(handle)


def test_in_a_group_the_error_names_the_part_that_does_not_fit(end: Callable[[], Any], ask: Ask) -> None:
    handle = group(tasks.next_day.s(DAY), tasks.unfit.s("x")).push()
    end()
    with pytest.raises(BadResult, match="unfit does not fit its return annotation") as caught:
        ask(handle)
    assert caught.value.value == "x"


def test_a_failure_is_raised_as_ever(end: Callable[[], Any], ask: Ask) -> None:
    handle = tasks.broken.using(retries=0).push()
    end()
    with pytest.raises(TaskFailed, match="no day"):
        ask(handle)


def test_the_result_of_a_task_that_this_process_does_not_know_is_plain(namespace: str) -> None:
    handle = tasks.next_day.push(DAY)
    run_worker()
    broker = get_broker()
    broker.client.hset(broker.keys("default").task(handle.id), "n", "elsewhere.next_day")
    assert handle.result(timeout=60) == NEXT.isoformat()


def test_a_stored_result_that_is_not_json_is_told_as_such(namespace: str) -> None:
    handle = tasks.next_day.push(DAY)
    run_worker()
    broker = get_broker()
    broker.client.hset(broker.keys("default").task(handle.id), "re", b'"2026-')
    with pytest.raises(NotDecodable, match="next_day cannot be read"):
        handle.result(timeout=60)
