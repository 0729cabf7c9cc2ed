"""Decisions of tasks, on the real broker with a worker and on the eager one: the same comes of them."""

from __future__ import annotations

from typing import Any

import pytest

from queueops import Batch, MapReduce, Permanent, Retry, RetryLater, TaskFailed, TaskStatus, chain, current, task
from queueops import Iterator as Emitter
from queueops.model.states import State
from queueops.redis import broker as brokers
from queueops.results.handle import TaskHandle
from tests.support import tasks_for_tests as tasks

CALLS: list[object] = []
"""What ran, in order."""


def decide(how: str, attempt: int) -> None:
    """Raise a decision in the first two attempts."""
    CALLS.append(attempt)
    if how == "permanent":
        raise Permanent(KeyError("closed"))
    if attempt < 3:
        raise RetryLater(0, KeyError("busy"))


@task(retries=2, retry=Retry(delay=3600), retry_on=())
def order(how: str) -> str:
    """Decide, or succeed in the third attempt."""
    decide(how, current().attempt)
    return f"ordered in attempt {current().attempt}"


@task(retries=2, retry=Retry(delay=3600), retry_on=())
async def order_later(how: str) -> str:
    """The same, on the loop."""
    decide(how, current().attempt)
    return f"ordered in attempt {current().attempt}"


@task(retries=2, retry=Retry(delay=3600), retry_on=())
def order_in_steps(how: str):
    """The same in a generator."""
    yield "begun"
    decide(how, current().attempt)
    return f"ordered in attempt {current().attempt}"


class Orders(MapReduce):
    """Each chunk decides."""

    retries, retry, retry_on = 2, Retry(delay=3600), ()
    on_chunk_failure = "drop:1"

    def map(self, *ways):
        yield from ways

    def process(self, chunk):
        decide(chunk, current().attempt)
        return current().attempt

    def reduce(self, results):
        return [list(results), list(self.dropped)]


class Decided(Emitter):
    """Decides before its first batch."""

    retries, retry, retry_on = 2, Retry(delay=3600), ()

    def iterate(self, state, how):
        """One task."""
        if state is None:
            decide(how, current().attempt)
        return Batch(1, [tasks.add.s(1, 2)]) if state is None else None


def status(handle: TaskHandle[Any]) -> TaskStatus:
    found = handle.status()
    assert found is not None
    return found


ORDERS = pytest.mark.parametrize("func", [order, order_later, order_in_steps])


@ORDERS
def test_a_task_is_tried_again_when_it_says_so_and_each_time_counts(run, func):
    CALLS.clear()
    handle = func.push("later")
    run()
    assert (handle.result(5), CALLS) == ("ordered in attempt 3", [1, 2, 3])
    assert status(handle).attempt == 2
    assert len(brokers.get_broker().log("default", handle.id)) == 2


@ORDERS
def test_without_another_attempt_a_task_fails_with_the_error_that_it_gave(run, func):
    handle = func.using(retries=1).push("later")
    run()
    found = status(handle)
    assert (found.state, found.attempt) == (State.FAILED, 2)
    assert (found.error_type, found.error) == ("KeyError", "'busy'")


@ORDERS
def test_a_task_fails_for_good_when_it_says_so(run, func):
    CALLS.clear()
    handle = func.push("permanent")
    run()
    with pytest.raises(TaskFailed, match="KeyError: 'closed'") as failed:
        handle.result(5)
    assert 'raise Permanent(KeyError("closed"))' in failed.value.traceback
    found = status(handle)
    assert (found.state, found.attempt, CALLS) == (State.FAILED, 1, [1])
    assert (found.error_type, found.error) == ("KeyError", "'closed'")


def test_each_chunk_decides_about_its_own_attempts(run):
    CALLS.clear()
    handle = Orders.push("later", "permanent", "later")
    run()
    assert handle.result(5) == [[3, 3], [1]]
    assert sorted(CALLS) == [1, 1, 1, 2, 2, 3, 3]
    assert handle.status().chunks == {"pending": 0, "active": 0, "errored": 0, "done": 2, "failed": 1}


def test_a_chunk_that_fails_for_good_gives_its_task_its_error(run):
    handle = Orders.push("permanent", "permanent")
    run()
    with pytest.raises(TaskFailed, match="KeyError: 'closed'"):
        handle.result(5)
    assert status(handle).reason == "chunk 1 failed"


def test_an_iterator_decides_about_its_own_attempts(run):
    CALLS.clear()
    later, permanent = Decided.push("later"), Decided.push("permanent")
    run()
    assert (later.state, later.progress.done, sorted(CALLS)) == (State.SUCCEEDED, 1, [1, 1, 2, 3])
    assert (permanent.state, status(permanent).error) == (State.FAILED, "'closed'")


def test_a_part_that_fails_for_good_fails_its_chain(run):
    handle = chain(tasks.add.s(1, 1), order.si("permanent"), tasks.add.si(1)).push()
    run()
    with pytest.raises(TaskFailed, match="KeyError: 'closed'"):
        handle.result(5)
    parts = brokers.get_broker().parts("default", handle.id)
    assert [TaskHandle(part.id).state for part in parts] == [State.SUCCEEDED, State.FAILED, State.CANCELLED]
