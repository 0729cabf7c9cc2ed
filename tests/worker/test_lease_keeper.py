"""What a lease keeper does for a process that cannot speak, in the store."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from queueops import inspect
from queueops.model.contracts import Lease, RoundTrip
from queueops.redis.broker import RedisBroker, get_broker
from queueops.worker.shared_slot_table import NEVER, Condition, SlotTable
from queueops.worker.supervisor.lease_keeper import NO_ANSWER, LeaseKeeper
from tests.support import tasks_for_tests as tasks
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("namespace")
SIGN = 5.0


@pytest.fixture
def broker() -> RedisBroker:
    return get_broker()


@pytest.fixture
def table() -> Iterator[SlotTable]:
    table = SlotTable(4)
    table.expect(SIGN)
    table.condition = Condition.SILENT
    yield table
    table.close()


def claimed(broker: RedisBroker, count: int, worker: str = "w1") -> list[Lease]:
    tasks.add.push_many([(1,)] * count)
    return broker.exchange("default", worker, RoundTrip(want=count)).leases


def begin(table: SlotTable, slot: int, lease: Lease, deadline: float = NEVER) -> None:
    table.start(slot, lease.id, lease.pool, lease.fence, 1.0, deadline, 1)


def shorten(broker: RedisBroker, *leases: Lease) -> None:
    """The leases end in a second."""
    seconds = int(broker.client.time()[0])
    broker.client.zadd(broker.keys("default").agenda, {lease.id: (seconds + 1) * 1000 for lease in leases})


def left(broker: RedisBroker, lease: Lease) -> float:
    """How many seconds a lease still lasts, about."""
    return float(broker.client.zscore(broker.keys("default").agenda, lease.id)) / 1000 - int(broker.client.time()[0])


def states(broker: RedisBroker, *leases: Lease) -> list[str]:
    return [broker.record("default", lease.id).state for lease in leases]  # type: ignore[union-attr]


def renew(broker: RedisBroker, table: SlotTable) -> None:
    LeaseKeeper(get_broker, "w1", table, SIGN).renew(broker, "default")


def test_what_was_started_is_renewed_and_what_was_only_fetched_is_given_back(
    broker: RedisBroker, table: SlotTable
) -> None:
    ended, runs, *fetched = claimed(broker, 5)
    (others,) = claimed(broker, 1, "w2")
    begin(table, 0, ended)
    table.clear(0)  # its outcome has not been told yet
    begin(table, 1, runs)
    shorten(broker, ended, runs, *fetched, others)
    renew(broker, table)
    assert states(broker, ended, runs, *fetched) == ["locked", "locked", *["pending"] * 3]
    assert min(left(broker, ended), left(broker, runs)) > 20
    assert left(broker, others) < 5
    crashes = [broker.record("default", lease.id).crashes for lease in fetched]  # type: ignore[union-attr]
    assert crashes == [0, 0, 0]


def test_a_lease_is_renewed_to_the_hard_limit_of_its_task_and_a_little_more(
    broker: RedisBroker, table: SlotTable
) -> None:
    (lease,) = claimed(broker, 1)
    begin(table, 0, lease, deadline=2.0)  # of the monotonic clock: long ago
    renew(broker, table)
    assert 0 < left(broker, lease) < 15


def test_nothing_is_touched_once_the_process_gives_a_sign_of_life(broker: RedisBroker, table: SlotTable) -> None:
    fetched = claimed(broker, 2)
    table.expect(SIGN + 1)
    shorten(broker, *fetched)
    renew(broker, table)
    assert states(broker, *fetched) == ["locked", "locked"]
    assert left(broker, fetched[0]) < 5


def test_a_silent_process_is_shown_with_the_task_that_it_runs_since_its_last_heartbeat(
    broker: RedisBroker, table: SlotTable
) -> None:
    broker.beat("default", "w1", {"slots": 4, "busy": 0, "running": b"[]", "state": "live"})
    (lease,) = claimed(broker, 1)
    begin(table, 2, lease)
    LeaseKeeper(get_broker, "w1", table, SIGN).speak(["default"])
    (row,) = inspect.workers()
    assert (row.state, row.busy) == ("silent", 1)
    assert [(task.id, task.name, task.pool) for task in row.running] == [(lease.id, tasks.add.name, "default")]
    view = inspect.worker("w1")
    assert view is not None
    assert [run.id for run in view.runs] == [lease.id]


def test_it_tells_the_stacks_of_the_process_or_that_it_did_not_answer(broker: RedisBroker, table: SlotTable) -> None:
    broker.beat("default", "w1", {"slots": 4, "busy": 0, "running": b"[]", "state": "live"})
    for answer, expected in (("Thread 1", "Thread 1"), ("", NO_ANSWER)):
        broker.tell("default", "w1", "stack")
        LeaseKeeper(get_broker, "w1", table, SIGN, lambda text=answer: text).speak(["default"])
        wait_until(lambda: not broker.wants_stack("default", "w1"))
        view = inspect.worker("w1")
        assert view is not None
        assert view.stacks is not None
        assert view.stacks.text == expected


class Store:
    """The store, in which something happens to the pool "aaa": what a call for it raises, or waits for."""

    def __init__(self, broker: RedisBroker, happens: Callable[[], Exception | None]) -> None:
        self.broker, self.happens, self.asked = broker, happens, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.broker, name)

    def held(self, pool: str, worker: str) -> Any:
        if pool == "aaa":
            self.asked += 1
            if (error := self.happens()) is not None:
                raise error
        return self.broker.held(pool, worker)


def end(keeper: LeaseKeeper) -> None:
    for thread in keeper._threads.values():
        thread.join(60)


def test_what_goes_wrong_in_one_pool_does_not_end_the_keeper(
    broker: RedisBroker, table: SlotTable, caplog: pytest.LogCaptureFixture
) -> None:
    (lease,) = claimed(broker, 1)
    begin(table, 0, lease)
    shorten(broker, lease)
    store = Store(broker, lambda: ValueError("no such certificate"))
    keeper = LeaseKeeper(lambda: store, "w1", table, SIGN)
    keeper.speak(["aaa", "default"])
    end(keeper)
    assert left(broker, lease) > 20
    assert "Pool aaa: " in caplog.text
    assert "no such certificate" in caplog.text


def test_a_pool_that_does_not_answer_holds_up_no_other(broker: RedisBroker, table: SlotTable) -> None:
    (lease,) = claimed(broker, 1)
    begin(table, 0, lease)
    may_answer = threading.Event()
    store = Store(broker, lambda: None if may_answer.wait(60) else AssertionError("waited in vain"))
    keeper = LeaseKeeper(lambda: store, "w1", table, SIGN)
    try:
        for _ in range(2):
            shorten(broker, lease)
            keeper.speak(["aaa", "default"])
            wait_until(lambda: left(broker, lease) > 20)
        assert store.asked == 1
        assert keeper._threads["aaa"].is_alive()
    finally:
        may_answer.set()
        end(keeper)


def test_what_was_handed_over_and_not_started_ends_by_itself(broker: RedisBroker, table: SlotTable) -> None:
    assert broker.exchange("default", "w1", RoundTrip(want=1, idle=True)).leases == []
    handle = tasks.add.push(1)
    renew(broker, table)
    record = broker.record("default", handle.id)
    assert record is not None
    assert (record.state, record.handed) == ("locked", record.fence)


def test_a_hard_cancel_is_heard_for_a_process_that_cannot_hear(broker: RedisBroker, table: SlotTable) -> None:
    soft, hard = claimed(broker, 2)
    begin(table, 0, soft)
    begin(table, 1, hard)
    broker.control("default", "cancel", [soft.id])
    renew(broker, table)
    assert table.condemned() is None
    broker.control("default", "cancel", [hard.id], hard=True)
    renew(broker, table)
    condemned = table.condemned()
    assert condemned is not None
    assert condemned.id == hard.id


def test_all_leases_of_a_worker_are_found_however_many_there_are(broker: RedisBroker) -> None:
    leases = claimed(broker, 600) + claimed(broker, 600)
    claimed(broker, 3, "w2")
    assert broker.held("default", "w1") == [(lease.id, lease.fence, False) for lease in leases]
    assert len(leases) == 1200
