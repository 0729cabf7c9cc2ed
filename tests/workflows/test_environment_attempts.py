"""Attempts of activities in the test environment: what one raises means what it means in a worker."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, NoReturn

import pytest

from queueops import Permanent, RetryLater, SoftTimeout, activity, current, wf, workflow
from queueops.errors import Shutdown
from queueops.errors.workflows import ActivityFailed
from queueops.redis.broker import get_broker
from queueops.testing import WorkflowEnvironment, run_worker

pytestmark = pytest.mark.usefixtures("memory")
attempts: list[int] = []


def _raised(error: BaseException) -> NoReturn:
    raise error


RAISES: dict[str, Callable[[], Any]] = {
    "error": lambda: _raised(OSError("down")),
    "permanent": lambda: _raised(Permanent("no such card")),
    "permanent error": lambda: _raised(Permanent(ValueError("no such card"))),
    "later": lambda: _raised(RetryLater(5)),
    "later once": lambda: _raised(RetryLater(5)) if len(attempts) == 1 else "paid",
    "cancelled": lambda: current().cancel("no stock"),
    "restarted": lambda: current().restart(60) if len(attempts) < 4 else "paid",
    "restarted and counted": lambda: current().restart(60, count_attempt=True) if len(attempts) < 3 else "paid",
    "exit": lambda: _raised(SystemExit(3)),
    "time limit": lambda: _raised(SoftTimeout(seconds=3)),
    "result": object,
}


@activity(name="attempts.pay", retries=2, timeout=60)
def pay(how: str) -> Any:
    """Ends as the test says."""
    attempts.append(current().attempt)
    return RAISES[how]()


class Doubles:
    """Middleware that gives the result twice."""

    def __init__(self, get_result: Callable[[Any], Any]) -> None:
        self.get_result = get_result

    def __call__(self, run: Any) -> Any:
        """The result, twice."""
        return 2 * self.get_result(run)


@activity(name="attempts.encoded", encoder=str, middleware=[Doubles])
def encoded() -> Any:
    """Returns what its middleware and its encoder change."""
    return 7


@activity(name="attempts.yields", on_yield=str)
async def yields() -> AsyncIterator[int]:
    """An async generator."""
    yield 1
    yield 2


@workflow(name="attempts.order")
async def order(how: str) -> str:
    """The result of an activity, or its error."""
    try:
        return str(await wf.call(pay, how))
    except ActivityFailed as error:
        return f"{error.type}: {error.message}"


@workflow(name="attempts.encodes")
async def encodes() -> list[Any]:
    """The results of activities that are run by more than a call of their function."""
    return [await wf.call(encoded), await wf.call(yields)]


def by_worker(how: str) -> str:
    """The result of a run in a worker, with all its attempts."""
    attempts.clear()
    run = order.start(how)
    for _ in range(6):
        run_worker()
        get_broker().control("default", "run_now", [f"{run.id}.1"])
    return run.result(timeout=0)


@pytest.mark.parametrize("how", RAISES)
def test_an_attempt_ends_as_in_a_worker(how: str) -> None:
    found, made = by_worker(how), attempts.copy()
    attempts.clear()
    assert (WorkflowEnvironment().run(order, how), attempts) == (found, made)


def test_an_attempt_that_takes_longer_than_its_time_limit_fails() -> None:
    env = WorkflowEnvironment()
    env.mock(pay, lambda how: how, takes=61)
    begun = env.now_ms
    assert env.run(order, "paid") == "queueops.errors.SoftTimeout: The task ran longer than its timeout of 60.0 s."
    assert len(env.calls) == 3
    assert env.now_ms - begun > 3 * 60_000
    env.mock(pay, lambda how: how, takes=60)
    assert env.run(order, "paid") == "paid"


def test_an_activity_has_its_middlewares_its_encoder_and_its_yields() -> None:
    run = encodes.start()
    run_worker()
    assert run.result(timeout=0) == WorkflowEnvironment().run(encodes) == ["14", ["1", "2"]]


def test_what_ends_no_attempt_goes_to_the_test() -> None:
    env = WorkflowEnvironment()
    env.mock(pay, lambda how: _raised(Shutdown()))
    with pytest.raises(Shutdown):
        env.run(order, "paid")
