"""Where no worker is, the process that wrote commands brings them: at once, and as far as it goes well."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from queueops.errors import BrokerUnavailable
from queueops.redis.broker import pool_messages as outbox
from queueops.watchdog.watchdog import Watchdog
from tests.composites.pools import Pools
from tests.composites.trees import chain_of, group_of
from tests.kernel.conftest import MakeDesk
from tests.support.waiting import wait_until


@pytest.fixture
def pools(make_desk: MakeDesk) -> Iterator[Pools]:
    """Two pools beside the default one, in none of which is a worker."""
    pools = Pools(make_desk().broker, "north", "south", brings=True)
    yield pools
    pools.check()


@pytest.fixture
def calls(pools: Pools, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The pools that were called about commands, in order."""
    found: list[str] = []
    real = pools.broker.post

    def post(pool: str, **values: Any) -> Any:
        found.append(pool)
        return real(pool, **values)

    monkeypatch.setattr(pools.broker, "post", post)
    return found


def test_a_part_in_another_pool_is_ready_when_its_push_returns(pools: Pools, calls: list[str]) -> None:
    pools.plant(chain_of("c", "a", "b"), a="north", b="south")
    assert pools.states("c", "a", "b") == ["idle", "pending", "waiting"]
    assert calls == ["default", "north", "default"]
    assert pools.commands() == 0


def test_so_is_what_that_brings_about_in_a_third_pool(pools: Pools, calls: list[str]) -> None:
    pools.plant(group_of("g", group_of("h", "a"), "b"), h="north", a="south", b="north")
    assert pools.states("g", "h", "a", "b") == ["idle", "idle", "pending", "pending"]
    assert calls == ["default", "north", "default", "south", "north"]
    assert pools.commands() == 0


def test_what_an_operator_does_is_done_in_the_other_pools_when_it_returns(pools: Pools) -> None:
    pools.plant(group_of("g", "a", "b"), a="north", b="south")
    assert pools["default"].told("cancel", "g") == "OK"
    assert pools.states("g", "a", "b") == ["cancelled"] * 3
    assert pools["default"].told("retry", "g") == "OK"
    assert pools.states("g", "a", "b") == ["idle", "pending", "pending"]
    assert pools.commands() == 0


def test_what_the_watchdog_begins_is_begun_in_the_other_pools_within_its_round(pools: Pools) -> None:
    nodes = pools.nodes(chain_of("c", "a", "b"), a="north", b="south")
    nodes[0].push.delay_ms = 60_000
    pools.broker.plant(nodes)
    pools["default"].make_due("c")
    watchdog = Watchdog(pools.broker, pools=["default"])
    assert watchdog.round()["default"]["commands"] == 1
    wait_until(lambda: pools.state("a") == "pending" and not pools.commands())
    watchdog._commands.close()


@pytest.mark.parametrize("is_idle", [True, False])
def test_where_a_worker_is_it_is_left_to_that(pools: Pools, calls: list[str], is_idle: bool) -> None:
    pools.broker.beat("default", "w1", {"host": "h"})
    if is_idle:
        pools["default"].exchange("w1", want=1, idle=True)
    pools.plant(group_of("g", "a"), a="north")
    assert pools["default"].told("cancel", "g") == "OK"
    assert (calls, pools.commands()) == ([], 2)
    pools.deliver()


def test_a_worker_that_has_not_been_heard_of_for_twenty_seconds_is_none(pools: Pools) -> None:
    pools.broker.beat("default", "w1", {"host": "h"})
    desk = pools["default"]
    desk.client.zadd(desk.keys.workers, {"w1": desk.now() - 21_000})
    pools.plant(group_of("g", "a"), a="north")
    assert pools.state("a") == "pending"


@pytest.mark.parametrize("unreachable", ["default", "north"])
def test_a_push_is_none_the_less_when_its_commands_can_not_be_brought(
    pools: Pools, monkeypatch: pytest.MonkeyPatch, unreachable: str
) -> None:
    real = pools.broker.post

    def post(pool: str, **values: Any) -> Any:
        if pool == unreachable:
            raise BrokerUnavailable(url="redis://away", attempts=1, reason="refused")
        return real(pool, **values)

    with monkeypatch.context() as patch:
        patch.setattr(pools.broker, "post", post)
        assert pools.plant(group_of("g", "a", "b"), a="north").word == "OK"
    assert pools.states("g", "a", "b") == ["idle", "waiting", "pending"]
    pools.unlock("default")
    assert sorted(pools.drain()) == ["a", "b"]
    assert pools.state("g") == "succeeded"


def test_of_very_many_it_brings_some_and_leaves_the_others(pools: Pools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "MOST", 50)
    parts = [f"x{number}" for number in range(120)]
    pools.plant(group_of("g", *parts), **dict.fromkeys(parts, "north"))
    assert pools.states(*parts).count("pending") == 50
    assert sorted(pools.drain(most=100)) == sorted(parts)
    assert (pools.state("g"), pools.commands()) == ("succeeded", 0)
