from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest
from django.db import connection

from queueops.context import Context
from queueops.contracts import Outcome
from queueops.errors import Interrupt, SoftTimeout
from queueops.signals import task_failed, task_retried, task_succeeded
from tests.rig import Rig, answer
from tests.waiting import wait_until

variable: ContextVar[str] = ContextVar("variable", default="clean")


async def sleep_long(context: Context) -> None:
    await asyncio.sleep(60)


def spin(context: Context) -> None:
    while True:
        time.sleep(0.001)


def test_a_result_is_encoded(rig: Rig) -> None:
    assert rig.run(lambda context: {"n": 1}).value == b'{"n":1}'


def test_an_async_task_runs_on_the_loop(rig: Rig) -> None:
    assert rig.run(answer).value == b"42"


def test_an_unknown_name_is_said_to_be_unknown(rig: Rig) -> None:
    rig.submit("nobody-knows-me")
    (end,) = rig.ends()
    assert end.outcome is Outcome.UNKNOWN
    assert b"nobody-knows-me" in end.value


def test_threads_are_started_as_they_are_needed_and_no_more(make_rig: Callable[[int], Rig]) -> None:
    rig = make_rig(4)
    busy, most = [0], [0]
    lock = threading.Lock()

    def count(context: Context) -> None:
        with lock:
            busy[0] += 1
            most[0] = max(most[0], busy[0])
        time.sleep(0.02)
        with lock:
            busy[0] -= 1

    rig.submit(rig.task(count), 40)
    rig.ends(40)
    assert most == [4]


@pytest.mark.parametrize("function", [spin, sleep_long])
def test_a_soft_timeout_ends_a_task_as_such(rig: Rig, function: Callable[[Context], Any]) -> None:
    (lease,) = rig.submit(rig.task(function), timeout_ms=50)
    wait_until(lambda: rig.executor.slot_of(lease))
    assert rig.executor.interrupt(lease, SoftTimeout)
    assert not rig.executor.interrupt(lease, SoftTimeout)
    (end,) = rig.ends()
    assert end.outcome is Outcome.TIMEOUT
    assert b"its timeout of 0.05 s" in end.value


def test_an_interrupt_never_meets_the_next_task(rig: Rig) -> None:
    """The race that slot.py closes: thousands of tiny tasks, and an interrupt for each that is seen to run."""
    leases = rig.submit(rig.task(lambda context: time.sleep(0.0001)), 3000)
    asked: set[str] = set()
    while len(rig.executor.done) < len(leases):
        for slot, lease in rig.executor.running():
            if lease.fence % 3 == 0 and slot.stop(lease, SoftTimeout):
                asked.add(lease.id)
    ends = rig.ends(len(leases))
    late = {end.id for end in ends if end.outcome is Outcome.TIMEOUT}
    assert late <= asked
    assert {end.outcome for end in ends if end.id not in late} == {Outcome.SUCCESS}
    assert len(asked) > 5


def test_what_was_not_started_can_be_taken_back_in_its_order(rig: Rig) -> None:
    release = threading.Event()
    leases = rig.submit(rig.task(lambda context: release.wait(60)), 10)
    wait_until(lambda: len(list(rig.executor.running())) == 2)
    assert [lease.id for lease in rig.executor.take_back()] == [lease.id for lease in leases[2:]]
    release.set()
    rig.ends(2)


def test_context_variables_do_not_pass_from_task_to_task(make_rig: Callable[[int], Rig]) -> None:
    rig = make_rig(1)

    def look_and_set(context: Context) -> str:
        found = variable.get()
        variable.set("dirty")
        return found

    rig.submit(rig.task(look_and_set), 3)
    assert {end.value for end in rig.ends(3)} == {b'"clean"'}


@pytest.mark.django_db(transaction=True)
def test_database_connections_are_closed_after_each_task_as_after_a_request(make_rig: Callable[[int], Rig]) -> None:
    rig = make_rig(1)

    def query(context: Context) -> bool:
        was_open = connection.connection is not None
        connection.ensure_connection()
        return was_open

    rig.submit(rig.task(query), 3)
    assert {end.value for end in rig.ends(3)} == {b"false"}


def test_a_failure_is_one_line_of_the_log_with_its_facts_for_machines(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(context: Context) -> None:
        raise ValueError("broken")

    name = rig.task(broken)
    rig.submit(name, attempt=2, retries=1)
    rig.ends(1)
    (line,) = [record for record in caplog.records if record.name == "queueops.worker"]
    told = line.told  # type: ignore[attr-defined]  # given as extra
    assert (told["name"], told["error"], told["attempt"], told["attempts"]) == (name, "ValueError: broken", 2, 2)
    assert told["task"] in line.getMessage()


def test_signals_are_sent_with_what_became_of_the_task(rig: Rig) -> None:
    told: list[str] = []

    def on_success(sender: Any, context: Context, result: Any, **_: Any) -> None:
        told.append(f"succeeded {result}")

    def on_retry(sender: Any, context: Context, error: BaseException, delay: float, **_: Any) -> None:
        told.append(f"retried {error}")

    def on_failure(sender: Any, context: Context, error: BaseException, **_: Any) -> None:
        told.append(f"failed {error}")

    def broken(context: Context) -> None:
        raise ValueError("broken")

    with_receivers = ((task_succeeded, on_success), (task_retried, on_retry), (task_failed, on_failure))
    for signal, receiver in with_receivers:
        signal.connect(receiver)
    try:
        rig.run(lambda context: 1)
        name = rig.task(broken)
        for attempt in (1, 2):
            rig.submit(name, attempt=attempt, retries=1)
            rig.ends(1 + attempt)
    finally:
        for signal, receiver in with_receivers:
            signal.disconnect(receiver)
    assert told == ["succeeded 1", "retried broken", "failed broken"]


@pytest.mark.parametrize("error", [SystemExit(2), KeyboardInterrupt(), GeneratorExit(), MemoryError()])
def test_whatever_a_task_raises_the_thread_goes_on(make_rig: Callable[[int], Rig], error: BaseException) -> None:
    rig = make_rig(1)

    def fail(context: Context) -> None:
        raise error

    assert rig.run(fail).outcome is Outcome.ERROR
    rig.submit(rig.task(lambda context: None))
    assert [end.outcome for end in rig.ends(2)] == [Outcome.ERROR, Outcome.SUCCESS]


def test_an_interrupt_is_not_swallowed_by_except_exception(rig: Rig) -> None:
    assert not issubclass(Interrupt, Exception)


def test_the_thread_of_a_task_makes_the_turn_of_a_loop_that_sleeps_and_runs_what_it_brings(rig: Rig) -> None:
    name = rig.task(lambda context: threading.get_ident())
    turns: list[int] = []

    def turn() -> None:
        assert rig.executor.awake.locked()
        turns.append(threading.get_ident())
        if len(turns) < 3:
            rig.submit(name)
            rig.executor.waiting = True

    rig.turn = turn
    rig.executor.waiting = True
    rig.submit(name)
    assert {int(end.value) for end in rig.ends(3)} == set(turns)
    wait_until(lambda: len(turns) == 3 and not rig.executor.awake.locked())
    assert len(set(turns)) == 1
    assert not rig.rings


def test_of_what_such_a_turn_brings_other_threads_run_all_but_the_first(rig: Rig) -> None:
    meeting = threading.Barrier(2)
    both = rig.task(lambda context: meeting.wait(60) >= 0)
    rig.turn = lambda: rig.submit(both, 2) and None
    rig.executor.waiting = True
    rig.submit(rig.task(lambda context: True))
    assert [end.value for end in rig.ends(3)] == [b"true"] * 3


def test_a_loop_that_is_awake_is_rung_for(rig: Rig) -> None:
    rig.turn = lambda: pytest.fail("two made a turn at the same time")
    rig.executor.waiting = True
    with rig.executor.awake:
        rig.run(lambda context: None)
        wait_until(lambda: rig.rings)
    assert not rig.executor.waiting


def test_a_thread_with_more_to_do_rings(make_rig: Callable[[int], Rig]) -> None:
    rig = make_rig(1)
    turns: list[int] = []
    rig.turn = lambda: turns.append(rig.executor.queued())
    rig.executor.low, rig.executor.waiting = 5, True
    begin = threading.Event()
    rig.submit(rig.task(lambda context: begin.wait(60)))
    rig.submit(rig.task(lambda context: None))
    begin.set()
    rig.ends(2)
    wait_until(lambda: rig.rings)
    assert not turns
