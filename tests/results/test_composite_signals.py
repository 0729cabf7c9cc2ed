"""Signals of chains, groups and iterators: one for each end, sent by the process whose call ended it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from queueops import (
    Batch,
    Chain,
    TaskHandle,
    chain,
    composite_cancelled,
    composite_failed,
    composite_succeeded,
    group,
)
from queueops import Iterator as TaskIterator
from queueops.model.contracts import RoundTrip
from queueops.model.endings import Ended
from queueops.redis.broker import get_broker
from queueops.testing import eager, run_worker
from queueops.worker.execution.ending_thread import SignalThread
from tests.composites.work import refuse, tell
from tests.support.tasks_for_tests import add
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("namespace")
SIGNALS = {"succeeded": composite_succeeded, "failed": composite_failed, "cancelled": composite_cancelled}


class Report(Chain):
    """A chain with a name of its own."""

    name = "tests.signals.report"

    def init(self) -> list[Any]:
        """Two steps."""
        return [add.s(1), add.s()]


class Pages(TaskIterator):
    """An iterator with two tasks."""

    name = "tests.signals.pages"

    def iterate(self, state: int | None) -> Batch | None:
        """One batch."""
        return None if state else Batch(1, [add.s(1), add.s(2)])


@pytest.fixture
def told() -> Iterator[list[dict[str, Any]]]:
    """What receivers were told."""
    found: list[dict[str, Any]] = []

    def receive(**facts: Any) -> None:
        assert SIGNALS[facts["state"]] is facts.pop("signal")
        found.append(facts)

    for signal in SIGNALS.values():
        signal.connect(receive)
    yield found
    for signal in SIGNALS.values():
        signal.disconnect(receive)


def pairs(told: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Names and states, in order."""
    return [(facts["name"], facts["state"]) for facts in told]


def by_worker(part: Any) -> Any:
    """Push it, and run a worker."""
    handle = part.push()
    run_worker()
    return handle


def at_once(part: Any) -> Any:
    """Push it eagerly."""
    with eager():
        return part.push()


WAYS = pytest.mark.parametrize("run", [by_worker, at_once])


@WAYS
def test_each_composite_is_told_once_the_inner_ones_first(told: list[dict[str, Any]], run: Callable[..., Any]) -> None:
    handle = run(chain(add.s(1), group(add.s(), chain(add.s(), add.s())), Report.si(), Pages.si(), group()))
    assert pairs(told) == [
        ("chain", "succeeded"),
        ("group", "succeeded"),
        ("tests.signals.report", "succeeded"),
        ("tests.signals.pages", "succeeded"),
        ("group", "succeeded"),
        ("chain", "succeeded"),
    ]
    assert {facts["root"] for facts in told} == {handle.id}
    assert told[-1]["handle"] == handle
    assert isinstance(told[0]["handle"], TaskHandle)
    assert [facts["kind"] for facts in told] == ["chain", "group", "chain", "iterator", "group", "chain"]


@WAYS
def test_the_sender_is_the_task_of_the_class_or_the_kind(told: list[dict[str, Any]], run: Callable[..., Any]) -> None:
    run(group(Report.s(), Pages.s()))
    assert {facts["sender"] for facts in told} == {Report.task, Pages.task, "group"}


@WAYS
def test_a_failure_is_told_of_all_that_it_ends(told: list[dict[str, Any]], run: Callable[..., Any]) -> None:
    run(chain(group(refuse.s(), tell.s(1)), chain(tell.s())))
    assert sorted(pairs(told)) == [("chain", "cancelled"), ("chain", "failed"), ("group", "failed")]


def test_what_is_cancelled_by_hand_is_told_in_the_process_that_does_so(told: list[dict[str, Any]]) -> None:
    handle = chain(add.s(1), group(add.s(), add.s())).push()
    assert told == []
    handle.cancel("enough")
    assert sorted(pairs(told)) == [("chain", "cancelled"), ("group", "cancelled")]
    handle.cancel("enough")
    assert len(told) == 2


def test_a_retry_that_ends_again_is_told_again(told: list[dict[str, Any]]) -> None:
    handle = by_worker(chain(add.s(1)))
    handle.retry(everything=True)
    run_worker()
    assert pairs(told) == [("chain", "succeeded")] * 2


def test_what_ends_by_a_command_of_another_pool_is_told_once(told: list[dict[str, Any]]) -> None:
    by_worker(chain(add.using(pool="north").s(1), group(add.using(pool="south").s()).using(pool="north")))
    assert sorted(pairs(told)) == [("chain", "succeeded"), ("group", "succeeded")]


def test_what_ends_when_it_is_pushed_is_told(told: list[dict[str, Any]]) -> None:
    chain(group(), group()).push()
    assert pairs(told) == [("group", "succeeded"), ("group", "succeeded"), ("chain", "succeeded")]


def test_what_the_watchdog_ends_is_told(told: list[dict[str, Any]]) -> None:
    handle = group(add.s(1)).push()
    broker = get_broker()
    (lease,) = broker.exchange("default", "gone", RoundTrip(want=1)).leases
    keys = broker.keys("default")
    broker.client.hset(keys.task(lease.id), "cr", 100)
    broker.client.zadd(keys.agenda, {lease.id: 1})
    broker.tick("default")
    assert (handle.state, pairs(told)) == ("failed", [("group", "failed")])


def test_plain_tasks_are_no_composites(told: list[dict[str, Any]]) -> None:
    by_worker(add.s(1))
    assert told == []


def test_a_receiver_that_raises_harms_nothing(told: list[dict[str, Any]], caplog: pytest.LogCaptureFixture) -> None:
    def broken(**_: Any) -> None:
        raise ValueError("broken receiver")

    composite_succeeded.connect(broken)
    try:
        assert by_worker(chain(add.s(1))).result(timeout=5) == 2
    finally:
        composite_succeeded.disconnect(broken)
    assert pairs(told) == [("chain", "succeeded")]
    assert "broken receiver" in caplog.text


def ended(number: int) -> Ended:
    return Ended(f"g{number}", "default", "group", "group", "succeeded", f"g{number}")


def test_a_worker_sends_them_in_a_thread_of_their_own_in_order(told: list[dict[str, Any]]) -> None:
    gate, threads = threading.Event(), []

    def slow(**_: Any) -> None:
        threads.append(threading.current_thread().name)
        gate.wait(60)

    composite_succeeded.connect(slow)
    sender = SignalThread()
    try:
        for number in range(3):
            sender.send([ended(number)])
        wait_until(lambda: threads)
        gate.set()
        sender.close(60)
    finally:
        gate.set()
        composite_succeeded.disconnect(slow)
    assert set(threads) == {"queueops-signals"}
    assert [facts["handle"].id for facts in told] == ["g0", "g1", "g2"]


def test_without_receivers_there_is_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    for signal in SIGNALS.values():
        monkeypatch.setattr(signal, "receivers", [])
    sender = SignalThread()
    sender.send([ended(1)])
    sender.close(60)
    assert not any(thread.name == "queueops-signals" for thread in threading.enumerate())
