"""A task decides about its attempt: `RetryLater` and `Permanent`."""

from __future__ import annotations

import asyncio
import copy
import pickle  # it is what a pool of processes uses
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import redis

from queueops import (
    MapReduce,
    Permanent,
    Retry,
    RetryLater,
    TaskCancelled,
    current,
    inspect,
    task,
    task_failed,
    task_retried,
)
from queueops.errors import BadOption, SoftTimeout
from queueops.model.contracts import Lease, Outcome
from queueops.model.records import Record
from queueops.model.states import State
from queueops.model.task_error import StoredError, error_of
from queueops.redis.broker import get_broker
from queueops.results.handle import TaskHandle
from queueops.tasks.context import Context
from queueops.tasks.decisions import Decision
from queueops.testing import run_worker
from queueops.worker.execution import settlements
from tests.support import tasks_for_tests as tasks
from tests.support.for_each import for_each
from tests.support.rig import Rig, Silent

HOUR = 3600
NAN, INF = float("nan"), float("inf")


@task(retries=2)
def wait_for_it(seconds: float = HOUR) -> None:
    """Want to be tried again."""
    raise RetryLater(seconds, ValueError("the supplier is busy"))


@task(retries=2, retry_on=(OSError,), retry=Retry(delay=0))
def decide(how: str) -> None:
    """Raise a decision in each of its forms."""
    match how:
        case "permanent":
            raise Permanent(ValueError("the card is refused"))
        case "permanent text":
            raise Permanent("the card is refused")
        case "later text":
            raise RetryLater(HOUR, "the supplier is busy")
        case "later":
            raise RetryLater(timedelta(hours=1))
    raise AssertionError(how)


class Suppliers(MapReduce):
    """Asks each supplier."""

    retries, on_chunk_failure = 2, "drop"

    def map(self, *answers):
        yield from answers

    def process(self, chunk):
        raise Permanent(ValueError(chunk)) if chunk == "closed" else RetryLater(HOUR, ValueError(chunk))


def record_of(handle: TaskHandle[Any]) -> Record:
    record = get_broker().record(handle.pool, handle.id)
    assert record is not None
    return record


def ended(pushed: TaskHandle[Any]) -> StoredError:
    """The stored error of a task, after all attempts that are due."""
    run_worker()
    return error_of(record_of(pushed))


def failure_of(chunk: inspect.ChunkDetail) -> str:
    return f"{chunk.error.type}: {chunk.error.message}" if chunk.error else ""


@pytest.fixture
def told() -> Iterator[list[tuple[str, BaseException, float | None]]]:
    """What receivers of signals get: which, the error, the delay."""
    found: list[tuple[str, BaseException, float | None]] = []

    def retried(sender: Any, error: BaseException, delay: float, **_: Any) -> None:
        found.append(("retried", error, delay))

    def failed(sender: Any, error: BaseException, **_: Any) -> None:
        found.append(("failed", error, None))

    task_retried.connect(retried)
    task_failed.connect(failed)
    yield found
    task_retried.disconnect(retried)
    task_failed.disconnect(failed)


@for_each("wrong", ["60", None, True, NAN, INF, -INF, ValueError("x")])
def test_the_seconds_are_a_number(wrong: Any) -> None:
    with pytest.raises(BadOption, match=r"The option seconds is .* must be seconds"):
        RetryLater(wrong, "later")


@for_each("wrong", [-1, -0.001, timedelta(seconds=-1), 1e300, 10**400, timedelta.max])
def test_the_seconds_have_bounds(wrong: Any) -> None:
    with pytest.raises(BadOption, match=r"The option seconds is .* must be from 0 seconds to a hundred years"):
        RetryLater(wrong)


@for_each("wrong", [42, b"later", ValueError, ["x"], {}])
@for_each("made", [Permanent, lambda error: RetryLater(1, error)])
def test_the_error_is_an_exception_or_a_text(made: Any, wrong: Any) -> None:
    with pytest.raises(BadOption, match=r"The option error is .* must be an exception \(not its class\), such as"):
        made(wrong)


def test_a_failure_for_good_needs_an_error() -> None:
    with pytest.raises(BadOption, match="The option error is None"):
        Permanent(None)  # type: ignore[arg-type]


def test_a_wrong_decision_is_an_ordinary_error_of_the_task(namespace: str) -> None:
    """Its attempt has failed at that line, and the next one is made after the ordinary delay."""
    handle = wait_for_it.push(-5)
    error = ended(handle)
    assert (handle.state, error.type) == (State.RESTART, "queueops.errors.BadOption")
    assert error.message == "The option seconds is -5.0, but it must be from 0 seconds to a hundred years."
    assert "raise RetryLater(seconds, " in error.traceback


@pytest.mark.parametrize("decision", [RetryLater(1), Permanent("x")])
def test_a_tasks_own_except_exception_lets_it_pass(decision: Decision) -> None:
    def careless() -> str:
        try:
            raise decision
        except Exception:  # what tasks do
            return "swallowed"

    with pytest.raises(Decision) as caught:
        careless()
    assert caught.value is decision


@pytest.mark.parametrize("decision", [RetryLater(1.5), RetryLater(0, KeyError("x")), Permanent("x")])
def test_it_comes_back_from_another_process(decision: Decision) -> None:
    for same in (pickle.loads(pickle.dumps(decision)), copy.copy(decision)):
        assert (type(same), str(same)) == (type(decision), str(decision))
        assert repr(same.error) == repr(decision.error)
        assert vars(same).get("seconds") == vars(decision).get("seconds")


def test_the_next_attempt_is_due_after_the_seconds_and_counts(namespace: str, redis_client: redis.Redis) -> None:
    def now() -> float:
        seconds, micros = redis_client.time()
        return float(seconds) + micros / 1_000_000

    before = now()
    handle = wait_for_it.push()
    error = ended(handle)
    record = record_of(handle)
    assert (record.state, record.attempt, record.retries) == (State.RESTART, 1, 2)
    assert record.due is not None
    assert before + HOUR - 1 <= record.due / 1000 <= now() + HOUR
    assert (error.type, error.message) == ("ValueError", "the supplier is busy")
    reason = next(finding for finding in inspect.why(handle.id) if "next attempt" in finding.text)
    assert reason.value == "ValueError: the supplier is busy"
    assert "attempt 1 of 3 failed; the next one starts in" in reason.text


def test_the_next_attempt_of_a_chunk_is_due_after_the_seconds(namespace: str) -> None:
    handle = Suppliers.push("busy", "closed")
    run_worker()
    later, permanent = inspect.chunk(handle.id, 0), inspect.chunk(handle.id, 1)
    assert later
    assert permanent
    assert (later.state, later.attempt, failure_of(later)) == ("errored", 1, "ValueError: busy")
    assert (later.due_ms or 0) - (later.begun_ms or 0) >= HOUR * 1000
    assert (permanent.state, permanent.attempt, failure_of(permanent)) == ("failed", 1, "ValueError: closed")
    assert handle.state == "aggregating"


def test_after_the_last_attempt_the_task_fails_with_the_error(namespace: str, told: list[Any]) -> None:
    handle = wait_for_it.push()
    for attempt in (1, 2, 3):
        error = ended(handle)
        assert (record_of(handle).attempt, handle.run_now()) == (attempt, attempt < 3)
    assert (handle.state, error.type, error.message) == (State.FAILED, "ValueError", "the supplier is busy")
    assert [(name, str(found), delay) for name, found, delay in told] == [
        ("retried", "the supplier is busy", HOUR),
        ("retried", "the supplier is busy", HOUR),
        ("failed", "the supplier is busy", None),
    ]
    assert {type(found) for _, found, _ in told} == {ValueError}


@pytest.mark.parametrize(
    ("how", "state", "type_", "message"),
    [
        ("permanent", State.FAILED, "ValueError", "the card is refused"),
        ("permanent text", State.FAILED, "queueops.tasks.decisions.Permanent", "the card is refused"),
        ("later text", State.RESTART, "queueops.tasks.decisions.RetryLater", "the supplier is busy"),
        (
            "later",
            State.RESTART,
            "queueops.tasks.decisions.RetryLater",
            "The task asked for its next attempt in 3600.0 s.",
        ),
    ],
)
def test_the_error_is_what_was_given_or_the_decision_itself(
    namespace: str, how: str, state: State, type_: str, message: str
) -> None:
    handle = decide.push(how)
    error = ended(handle)
    assert (handle.state, record_of(handle).attempt) == (state, 1)
    assert (error.type, error.message) == (type_, message)
    assert ", in decide" in error.traceback
    assert error.traceback.startswith("Traceback")


def test_a_timeout_may_be_tried_again_later() -> None:
    """SoftTimeout is no Exception, and may be given all the same."""
    context = Context(Lease(id="x", fence=1, name="t", retries=1), tasks.add.handler, Silent())
    end = settlements.raised(context, RetryLater(5, SoftTimeout(seconds=1)))
    assert (end.outcome, end.delay_ms, end.title) == (
        Outcome.ERROR, 5000, "queueops.errors.SoftTimeout: The task ran longer than its timeout of 1 s.",
    )  # fmt: skip


@pytest.mark.parametrize("decision", [RetryLater(HOUR, ValueError("busy")), Permanent(ValueError("busy"))])
def test_a_cancelled_task_that_decides_is_cancelled(namespace: str, decision: Decision) -> None:
    @task(name="tests.decisions.cancelled")
    def cancelled() -> None:
        TaskHandle(current().id).cancel("enough")
        current().ask_to_cancel("enough")
        raise decision

    handle = cancelled.push()
    run_worker()
    with pytest.raises(TaskCancelled, match="enough"):
        handle.result(5)
    assert any(
        b"cancelled, and then raised ValueError: busy" in line for line in get_broker().log("default", handle.id)
    )


@pytest.mark.parametrize("is_async", [False, True])
def test_a_workers_threads_and_its_loop_settle_what_was_decided(rig: Rig, is_async: bool) -> None:
    def decide(context: Context) -> None:
        raise (Permanent if context.attempt > 1 else lambda error: RetryLater(1.5, error))(ValueError("x"))

    async def decide_later(context: Context) -> None:
        await asyncio.sleep(0)
        decide(context)

    name = rig.task(decide_later if is_async else decide)
    rig.submit(name, retries=5)
    rig.submit(name, retries=5, attempt=2)
    later, permanent = rig.ends(2)
    assert [(end.outcome, end.title) for end in (later, permanent)] == [(Outcome.ERROR, "ValueError: x")] * 2
    assert (later.delay_ms, permanent.delay_ms) == (1500, settlements.NO_RETRY)
