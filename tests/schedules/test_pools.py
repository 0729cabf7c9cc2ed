"""Chains and groups by the clock whose parts are in several pools, and in a pool that the schedule says."""

from __future__ import annotations

from typing import Any

import pytest

from queueops import Chain, Schedule, get, group, schedules
from queueops.eager.execution import run
from queueops.errors import IdInUse, UnknownOption
from queueops.testing import run_worker
from tests.composites.channel import CHANNEL
from tests.composites.pools import Pools
from tests.composites.work import tell
from tests.schedules.conftest import FAR, Clock
from tests.support.tasks_for_tests import add


class Abroad(Chain):
    """Parts in three pools, a group among them."""

    def init(self, first: int) -> list[Any]:
        """Adds up to a list."""
        north, south = add.using(pool="north"), add.using(pool="south")
        parts = group(south.s(1), add.s(2), north.s(3)).using(pool="south")
        return [north.s(first), parts, tell.using(pool="north").s()]


class Here(Chain):
    """Parts in the pool of their tasks."""

    def init(self, first: int) -> list[Any]:
        """Adds up."""
        return [group(add.s(first)), tell.s()]


def fired(clock: Clock, task: Any, *args: Any, **values: Any) -> str:
    """A schedule of this task fires; the id of what it created."""
    schedules.create(task, Schedule(FAR, args=args, **values), id="s")
    clock.came()
    assert clock.fire() == {"fired": 1}
    return clock.runs()[0]


@pytest.mark.parametrize("pools", [None, ["south", "default", "north"], ["north", "south", "default"]])
def test_a_tick_creates_a_chain_whose_parts_run_in_their_pools(clock: Clock, pools: list[str] | None) -> None:
    task_id = fired(clock, Abroad, 4)
    run_worker(pools=pools)
    run_worker(pools=pools)
    handle = get(task_id)
    assert handle is not None
    assert handle.result(timeout=60) == [6, 7, 8]
    assert (handle.progress.done, handle.progress.total) == (5, 5)
    assert Pools(clock.broker, "north", "south").commands() == 0


def test_the_next_tick_waits_until_the_last_part_in_whatever_pool_has_ended(clock: Clock) -> None:
    task_id = fired(clock, Abroad, 4, overlap="skip")
    run_worker(pools=["default"])
    assert clock.state(task_id) == "idle"
    clock.came()
    assert clock.fire() == {"skipped": 1}
    run_worker()
    assert clock.state(task_id) == "succeeded"
    clock.came(ago_ms=20_000)  # its run has an id of its own
    assert clock.fire() == {"fired": 1}


def test_a_worker_that_dies_while_it_writes_parts_elsewhere_leaves_none_twice(clock: Clock) -> None:
    task_id = fired(clock, Abroad, 4)
    pools = Pools(clock.broker, "north", "south")
    lease = clock.lease()
    run(lease, CHANNEL)
    first = waiting(pools)
    assert len(first) == 6
    clock.expire(task_id)
    again = clock.lease()
    clock.exchange(settle=[run(again, CHANNEL)])
    pools.deliver()
    for desk in pools.desks.values():
        for _ in range(3):
            desk.make_due(*(each.decode() for each in desk.client.zrange(desk.keys.agenda, 0, -1) if each[:1] == b"~"))
            desk.tick()
    pools.deliver()
    assert not first & waiting(pools)
    run_worker()
    assert get(task_id).result(timeout=60) == [6, 7, 8]  # type: ignore[union-attr]


def test_what_is_cancelled_while_a_worker_finds_its_parts_begins_none_elsewhere(clock: Clock) -> None:
    task_id = fired(clock, Abroad, 4)
    pools = Pools(clock.broker, "north", "south")
    lease = clock.lease()
    settlement = run(lease, CHANNEL)
    clock.told("cancel", task_id)
    clock.exchange(settle=[settlement])
    pools.deliver()
    assert clock.state(task_id) == "cancelled"
    assert waiting(pools) == set()
    assert all(desk.claim(5) == [] for desk in pools.desks.values())


def test_a_schedule_may_say_in_which_pool_a_template_is(clock: Clock) -> None:
    schedules.create(Here.using(pool="north"), Schedule(FAR, args=[4]), id="s")
    row = schedules.get("s")
    assert row is not None
    assert row.pool == "north"
    task_id = schedules.run_now("s")
    run_worker()
    handle = get(task_id)
    assert handle is not None
    assert (handle.pool, handle.result(timeout=60)) == ("north", [5])


@pytest.mark.usefixtures("namespace")
def test_a_template_is_pushed_with_other_options_as_a_task_is() -> None:
    chosen = Here.using(pool="north", id="x", tags=["t"], on_conflict="reject")
    handle = chosen.push(4)
    assert (handle.id, handle.pool, handle.status().tags) == ("x", "north", ("t",))
    with pytest.raises(IdInUse):
        chosen.push(4)
    assert Here.using(pool="north").postpone(60, 4).state == "postponed"
    run_worker()
    assert handle.result(timeout=60) == [5]
    with pytest.raises(UnknownOption, match="lane"):
        Here.using(lane="x")


def waiting(pools: Pools) -> set[str]:
    """All that waits for its turn, in whatever pool."""
    return {
        each.decode() for desk in pools.desks.values() for each in desk.client.zrange(desk.keys.state("waiting"), 0, -1)
    }
