"""Alarms about messages to other pools, each with an error."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from queueops import inspect
from queueops.model.contracts import Told
from tests.composites.pools import Pools
from tests.kernel.desk import POOL, Desk
from tests.kernel.test_dead_follow_ups import give_up, plan, pushed


@pytest.fixture
def pools(desk: Desk) -> Iterator[Pools]:
    """One pool beside the default one, and a message to it."""
    found = Pools(desk.broker, "north")
    desk.settle(pushed(desk, plan("success", id="b", pool="north")))
    yield found
    found.check()


def texts() -> list[str]:
    """What the page of the pool tells about its messages."""
    pool = inspect.pool(POOL)
    assert pool
    return [alarm.text for alarm in pool.alarms if alarm.url_hint.startswith("commands?")]


def test_a_message_that_is_given_up_is_an_alarm_with_its_error(pools: Pools) -> None:
    give_up(pools)
    assert "Pool default: 1 message to another pool was given up. The last one: no room" in texts()


def test_a_message_that_its_pool_does_not_take_is_an_alarm_with_its_error(pools: Pools) -> None:
    desk = pools[POOL]
    (command,) = pools.take(POOL)
    assert texts() == []
    pools.tell(POOL, Told(command.id, command.version, "LATER", b"the store is full"))
    assert texts() == []
    desk.client.hset(desk.keys.command(command.id), "t", desk.now() - 300_000)
    (text,) = texts()
    assert text == "Pool default: 1 message to another pool waits for 5 min, and cannot be delivered: the store is full"
    pools.make_due(POOL)
    pools.deliver()
    assert texts() == []


def test_a_message_that_is_due_and_that_no_process_takes_is_an_alarm(pools: Pools) -> None:
    desk = pools[POOL]
    (id,) = desk.client.zrange(desk.keys.commands, 0, -1)
    desk.client.zadd(desk.keys.commands, {id: desk.now() - 120_000})
    assert texts() == ["Pool default: 1 message to another pool waits for 2 min, and cannot be delivered."]
    pools.deliver()
    assert texts() == []
