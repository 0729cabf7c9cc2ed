"""Chains, groups and iterators by the clock: a worker finds the parts, and overlap looks at the whole."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from queueops import Schedule, chain, control, get, schedules
from queueops.eager.execution import run
from queueops.errors import BadOption, StoreFull
from queueops.model.contracts import Outcome
from queueops.redis.broker import get_broker
from queueops.tasks import declared_schedules as declare
from queueops.tasks import registry
from queueops.testing import run_worker
from tests.composites.channel import CHANNEL
from tests.schedules.conftest import FAR, Clock
from tests.schedules.trees import Nightly, Pages, Wide, calls, failing
from tests.support.tasks_for_tests import add


@pytest.fixture(autouse=True)
def nothing_ran() -> Iterator[None]:
    """Each test counts from nothing."""
    calls.clear()
    failing.clear()
    yield
    assert not failing


def fired(clock: Clock, task: Any, *args: Any, **values: Any) -> str:
    """A schedule of this task fires; the id of what it created."""
    schedules.create(task, Schedule(FAR, args=args, **values), id="s")
    clock.came()
    assert clock.fire() == {"fired": 1}
    (task_id,) = clock.runs()
    return task_id


def run_one(clock: Clock) -> str:
    """A worker takes one task and runs it to its end."""
    lease = clock.lease()
    clock.exchange(settle=[run(lease, CHANNEL)])
    return lease.id


def test_a_chain_is_created_by_a_tick_and_a_worker_finds_its_parts(clock: Clock) -> None:
    task_id = fired(clock, Nightly, 1, 2)
    assert calls == []
    assert clock.state(task_id) == "pending"
    assert clock.record(task_id).own["unexpanded"]  # type: ignore[union-attr]
    assert run_one(clock) == task_id
    assert clock.state(task_id) == "idle"
    clock.check()
    run_worker()
    handle = get(task_id)
    assert handle is not None
    assert handle.result(timeout=60) == 4
    assert (handle.progress.done, handle.progress.total) == (3, 3)
    assert calls == ["init"]


@pytest.mark.parametrize(("task", "ends"), [(Wide, [1, 2, 3]), (Pages, None)])
def test_so_are_a_group_and_an_iterator(clock: Clock, task: Any, ends: Any) -> None:
    task_id = fired(clock, task, 3)
    run_worker()
    handle = get(task_id)
    assert handle is not None
    assert handle.result(timeout=60) == ends
    assert handle.progress.done == 3


@pytest.mark.parametrize("postponed", [True, False])
def test_one_whose_parts_nobody_has_found_yet_waits_as_it_did_when_its_cancel_is_taken_back(
    clock: Clock, postponed: bool
) -> None:
    task_id = fired(clock, Nightly, 1, 2)
    if postponed:
        control.postpone([task_id], seconds=3600)
    before = clock.state(task_id)
    control.cancel([task_id])
    assert [(row.word, row.state) for row in control.reinstate([task_id])] == [("OK", before)]
    clock.check()
    control.run_now([task_id])
    run_worker()
    handle = get(task_id)
    assert handle is not None
    assert handle.result(timeout=60) == 4
    assert calls == ["init"]


def test_one_that_has_begun_to_write_its_parts_is_not_made_to_wait(clock: Clock) -> None:
    task_id = fired(clock, Nightly, 1)
    failing.append("no")
    run_one(clock)
    assert clock.state(task_id) == "restart"
    control.cancel([task_id])
    assert [row.word for row in control.reinstate([task_id])] == ["REFUSED"]
    clock.check()
    control.retry([task_id])
    run_worker()
    assert (clock.state(task_id), calls) == ("succeeded", ["init"] * 2)


def test_of_two_watchdogs_one_creates_the_composite_and_its_parts_run_once(clock: Clock) -> None:
    schedules.create(Wide, Schedule(FAR, args=[4]), id="s")
    clock.came()
    together = Barrier(3)

    def look() -> int:
        together.wait(30)
        return clock.fire(clock.watchdog()).get("fired", 0)

    with ThreadPoolExecutor(3) as threads:
        assert sum(future.result() for future in [threads.submit(look) for _ in range(3)]) == 1
    run_worker()
    assert clock.counted("tr|locked>succeeded") == 4
    assert clock.counted("tr|locked>idle") == 1


def test_a_tick_is_skipped_until_the_last_part_of_the_one_before_has_ended(clock: Clock) -> None:
    fired(clock, Nightly, 1, overlap="skip")
    for expected in ("pending", "idle", "idle"):
        assert clock.state(clock.runs()[0]) == expected
        clock.came()
        assert clock.fire() == {"skipped": 1}
        run_one(clock)
    clock.came(ago_ms=20_000)  # its run has an id of its own
    assert clock.fire() == {"fired": 1}


def test_a_run_that_was_put_off_begins_when_the_whole_has_ended(clock: Clock) -> None:
    schedules.create(Nightly, Schedule(FAR, args=[1], overlap="queue", catch_up="all"), id="s")
    clock.came(ago_ms=40_000)
    clock.fire()
    clock.came(ago_ms=20_000)
    clock.fire()
    assert len(clock.runs()) == 1
    assert len(clock.drain_really()) == 3
    keeper = clock.watchdog()
    keeper.act("default")
    assert len(clock.runs()) == 2


def test_while_a_run_is_put_off_the_watchdog_looks_ten_times_a_second(clock: Clock) -> None:
    schedules.create(add, Schedule(FAR, args=[1], overlap="queue"), id="s")
    keeper = clock.watchdog()
    clock.came(ago_ms=40_000)
    keeper.act("default")
    assert keeper.ahead_s() > 1
    clock.came(ago_ms=20_000)
    keeper.act("default")
    assert keeper.ahead_s() <= 0.1
    schedules.pause("s")
    keeper.act("default")
    assert keeper.ahead_s() > 1


def test_an_init_that_fails_is_tried_again_and_a_retry_runs_it_anew(clock: Clock) -> None:
    failing[:] = ["b", "a", "c"]
    task_id = fired(clock, Nightly, 1)
    for state in ("restart", "restart", "failed"):
        run_one(clock)
        assert clock.state(task_id) == state
        if state == "restart":
            clock.make_due(task_id)
            clock.tick()
    assert clock.state(task_id) == "failed"
    assert clock.told("retry", task_id) == "OK"
    run_worker()
    assert get(task_id).result(timeout=60) == 3  # type: ignore[union-attr]
    assert calls == ["init"] * 4


def test_a_store_that_takes_no_parts_costs_no_attempt(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise StoreFull(reason="no room")

    task_id = fired(clock, Nightly, 1)
    with monkeypatch.context() as patch:
        patch.setattr(get_broker(), "emit", refuse)
        run_one(clock)
    record = clock.record(task_id)
    assert record is not None
    assert (record.state, record.attempt) == ("postponed", 0)
    assert clock.told("run_now", task_id) == "OK"
    run_worker()
    assert get(task_id).result(timeout=60) == 3  # type: ignore[union-attr]


@pytest.mark.parametrize("count", [3, 1200])
def test_a_worker_that_dies_while_it_writes_the_parts_leaves_none_twice(clock: Clock, count: int) -> None:
    task_id = fired(clock, Wide, count)
    lease = clock.lease()
    run(lease, CHANNEL)
    clock.check()
    assert clock.state(task_id) == "locked"
    clock.expire(task_id)
    again = clock.lease()
    assert again.id == task_id
    clock.exchange(settle=[run(again, CHANNEL)])
    for _ in range(5):
        clock.tick()
    clock.check()
    assert clock.client.zcard(clock.keys.state("pending")) == count
    assert clock.client.zcard(clock.keys.task(task_id) + "#children") == count
    assert clock.client.zcard(clock.keys.state("waiting")) == 0
    clock.told("cancel", task_id)
    for _ in range(5):
        clock.tick()


@pytest.mark.parametrize("outcome", [Outcome.SUCCESS, Outcome.ERROR, Outcome.CRASH, Outcome.RELEASE, Outcome.CANCEL])
def test_one_that_is_to_be_cancelled_while_it_finds_its_parts_begins_none(clock: Clock, outcome: Outcome) -> None:
    task_id = fired(clock, Wide, 3)
    lease = clock.lease()
    end = run(lease, CHANNEL)
    clock.told("cancel", task_id, value="enough")
    end.outcome = outcome
    clock.exchange(settle=[end])
    assert clock.state(task_id) == "cancelled"
    assert clock.counted("tr|waiting>cancelled") == 3
    assert clock.claim(5) == []


def test_a_schedule_of_a_class_is_edited_paused_and_run_by_its_name(clock: Clock) -> None:
    schedules.create(Nightly.name, Schedule(FAR, args=[1]), id="s")
    assert schedules.update("s", Schedule(FAR, args=[5]))
    task_id = schedules.run_now("s")
    run_worker()
    assert get(task_id).result(timeout=60) == 7  # type: ignore[union-attr]
    assert {Nightly.name, Wide.name, Pages.name} <= set(declare.task_names())


def test_a_chain_that_is_no_class_can_not_be_scheduled(clock: Clock) -> None:
    with pytest.raises(BadOption, match="a Chain"):
        schedules.create(chain(add.s(1), add.s(2)), FAR)


def test_each_class_may_say_in_the_code_when_it_runs(clock: Clock) -> None:
    before = set(registry.handlers())
    every = {"cron": Schedule("@hourly", args=[3])}
    try:
        made = [type(f"Hourly{base.__name__}", (base,), every) for base in (Nightly, Wide, Pages)]
        lines = {one.push.name: (one.line, one.push.kind) for one in declare.declared()}
    finally:
        for kind, name in set(registry.handlers()) - before:
            registry.unregister(kind, name)
    assert [lines[kind.name] for kind in made] == [("@hourly", kind) for kind in ("chain", "group", "iterator")]
    assert Nightly.name not in lines
    assert get_broker() is clock.broker
