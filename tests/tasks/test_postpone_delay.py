"""`delay=` of a task or class: what `postpone()` waits when it is given no delay of its own."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from queueops import Batch, Chain, Group, Iterator, MapReduce, chain, current, get, group, task
from queueops.errors import BadOption
from queueops.model.states import State
from queueops.testing import run_worker
from tests.support.tasks_for_tests import add

pytestmark = pytest.mark.usefixtures("namespace")
HOUR = 3600


@task(name="tests.postpone.remind", delay=dt.timedelta(hours=1))
def remind(n: int = 0) -> int:
    """Give back what it got."""
    return n


class Reminders(MapReduce):
    """One chunk."""

    delay = HOUR

    def reduce(self, results: Any) -> list[Any]:
        """All of them."""
        return list(results)

    def process(self, chunk: Any) -> Any:
        """The chunk as it is."""
        return chunk


class NoDelay(MapReduce):
    """A class that says nothing of a delay."""

    def process(self, chunk: Any) -> Any:
        """The chunk as it is."""
        return chunk


class Emits(Iterator):
    """Nothing to do."""

    delay = HOUR

    def iterate(self, state: Any, n: int = 0) -> Batch | None:
        """End at once."""


class Steps(Chain):
    """One step."""

    delay = HOUR

    def init(self, n: int = 0) -> list[Any]:
        """Which gives back what it got."""
        return [remind.s(n)]


class Sides(Group):
    """One part."""

    delay = HOUR

    def init(self, n: int = 0) -> list[Any]:
        """Which gives back what it got."""
        return [remind.s(n)]


def seconds_of(handle: Any) -> float:
    """How long a postponed task waits."""
    status = handle.status()
    assert status.state is State.POSTPONED
    return round((status.due_ms - status.created_ms) / 1000, 1)


@pytest.mark.parametrize(
    "push",
    [
        lambda: remind.postpone(),
        lambda: remind.postpone(None, 1),
        lambda: asyncio.run(remind.apostpone(None, 1)),
        lambda: remind.s(1).postpone(),
        lambda: remind.si(1).postpone(None),
        lambda: remind.using(priority=1).postpone(),
        lambda: add.using(delay=HOUR).postpone(None, 1),
        lambda: add.using(delay=HOUR).s(1).postpone(),
        lambda: Reminders.postpone(None, 1),
        lambda: Reminders.using(priority=1).postpone(None, 1),
        lambda: Emits.postpone(),
        lambda: Steps.postpone(),
        lambda: Steps.using(pool="default").postpone(None, 1),
        lambda: Steps.s(1).postpone(),
        lambda: Sides.postpone(None, 1),
        lambda: chain(add.s(1)).using(delay=HOUR).postpone(),
    ],
)
def test_postpone_without_a_delay_waits_as_long_as_the_task_says(push: Callable[[], Any]) -> None:
    assert seconds_of(push()) == HOUR


@pytest.mark.parametrize(
    "push",
    [
        lambda: remind.postpone(60, 1),
        lambda: remind.using(delay=60).postpone(None, 1),
        lambda: remind.using(delay=60).push(1),
        lambda: remind.s(1).postpone(60),
        lambda: Reminders.postpone(60, 1),
        lambda: Steps.postpone(60, 1),
        lambda: Steps.using(delay=60).postpone(None, 1),
    ],
)
def test_a_delay_that_is_given_comes_before_that_of_the_task(push: Callable[[], Any]) -> None:
    assert seconds_of(push()) == 60


@pytest.mark.parametrize(
    "push", [remind.push, Reminders.push, Emits.push, Steps.push, Sides.push, chain(remind.s()).push]
)
def test_a_push_does_not_wait(push: Callable[..., Any]) -> None:
    assert push().state is not State.POSTPONED


def test_a_part_does_not_wait() -> None:
    handle = group(remind.s(1), Steps.s(2)).push()
    run_worker()
    assert handle.result(timeout=5) == [1, 2]


@task(name="tests.postpone.plans")
def plans() -> str:
    """Postpone another task from within."""
    return current().postpone(None, remind, 1).id


def test_a_task_within_a_task_waits_as_long_as_it_says() -> None:
    handle = plans.push()
    run_worker()
    assert seconds_of(get(handle.result(timeout=5))) == HOUR


@pytest.mark.parametrize(
    "push",
    [
        lambda: add.postpone(None, 1),
        lambda: add.s(1).postpone(),
        lambda: chain(remind.s(1)).postpone(),
        lambda: NoDelay.postpone(None, 1),
    ],
)
def test_postpone_without_any_delay_is_refused_with_what_to_write(push: Callable[[], Any]) -> None:
    with pytest.raises(BadOption, match=r"delay.*postpone\(60, \.\.\.\).*@task\(delay=60\)"):
        push()


@pytest.mark.parametrize("value", [-1, "60", True, float("nan"), dt.datetime(2026, 1, 1, tzinfo=dt.UTC)])
def test_a_delay_of_a_task_is_a_number_of_seconds_or_a_timedelta(value: Any) -> None:
    with pytest.raises(BadOption, match="delay"):
        task(name="tests.postpone.wrong", delay=value)(lambda: None)
    with pytest.raises(BadOption, match="delay"):
        type("Wrong", (MapReduce,), {"delay": value, "__module__": __name__})
