"""What one call brings about a task twice: it moves, and then what it is part of ends and takes it along."""

from __future__ import annotations

import pytest

from queueops.eager.execution import run
from queueops.model.contracts import Lease, Outcome
from queueops.redis.broker import get_broker
from tests.composites.channel import CHANNEL
from tests.composites.trees import group_of, open_children, plant
from tests.composites.work import Count
from tests.kernel.desk import Desk, end


@pytest.fixture
def iterating(namespace: str) -> tuple[Desk, Lease, Lease]:
    """An iterator in its last attempt, one start before it is lost too often, and a task of it; both run."""
    handle, desk = Count.push(9), Desk(get_broker())
    desk.exchange(settle=[run(desk.lease(), CHANNEL)])
    leases = {lease.id: lease for lease in desk.claim(3)}
    iterator = leases.pop(handle.id)
    task, other = leases.values()
    desk.settle(other)
    desk.client.hset(desk.keys.task(handle.id), "cr", 2)
    return desk, iterator, task


def test_a_task_restarts_itself_and_its_iterator_fails(iterating: tuple[Desk, Lease, Lease]) -> None:
    desk, iterator, task = iterating
    ends = [end(task, Outcome.RESTART, delay_ms=60_000), end(iterator, Outcome.ERROR, b"{}", delay_ms=-1)]
    desk.exchange(settle=ends)
    assert desk.states(iterator.id, task.id) == ["failed", "cancelled"]
    desk.check()


def test_both_are_lost_and_the_iterator_for_good(iterating: tuple[Desk, Lease, Lease]) -> None:
    desk, iterator, task = iterating
    desk.client.zadd(desk.keys.agenda, {task.id: 1, iterator.id: 2})
    desk.tick()
    assert desk.states(iterator.id, task.id) == ["failed", "cancelled"]
    desk.check()


def test_a_task_is_ready_again_and_its_iterator_is_lost_for_good(iterating: tuple[Desk, Lease, Lease]) -> None:
    desk, iterator, task = iterating
    desk.settle(task, Outcome.RESTART, delay_ms=60_000)
    desk.client.zadd(desk.keys.agenda, {task.id: 1, iterator.id: 2})
    desk.tick()
    assert desk.states(iterator.id, task.id) == ["failed", "cancelled"]
    desk.check()


def test_both_are_taken_from_their_worker_and_the_iterator_was_to_be_cancelled(
    iterating: tuple[Desk, Lease, Lease],
) -> None:
    desk, iterator, task = iterating
    desk.told("cancel", iterator.id)
    desk.control("release", task.id, iterator.id)
    assert desk.states(iterator.id, task.id) == ["cancelled", "cancelled"]
    desk.check()


def test_parts_are_ready_again_while_the_cancelling_of_a_large_group_goes_on(namespace: str) -> None:
    desk = Desk(get_broker())
    plant(desk, group_of("g", *[f"x{number}" for number in range(1200)]))
    leases = desk.claim(60)
    desk.exchange(settle=[end(lease, Outcome.RESTART, delay_ms=60_000) for lease in leases])
    desk.told("cancel", "g")
    desk.make_due(*[lease.id for lease in leases if lease.id in open_children(desk, "g")])
    while open_children(desk, "g"):
        desk.tick()
        desk.check()
    assert desk.client.zcard(desk.keys.state("cancelled")) == 1201
