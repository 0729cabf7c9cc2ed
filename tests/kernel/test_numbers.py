"""The counter of a pool gives out each number once, whatever another program writes there."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest
from redis import Redis

from queueops.model.contracts import Outcome
from queueops.watchdog import Watchdog
from tests.composites.pools import Pools
from tests.composites.trees import chain_of
from tests.kernel.desk import NEVER_MS, Desk, end, make

BAND = 2**44
GARBAGE: dict[str, Callable[[Redis, str], object]] = {
    "text": lambda client, key: client.set(key, "x"),
    "nothing": lambda client, key: client.set(key, ""),
    "bytes": lambda client, key: client.set(key, b"\xff\x00"),
    "a fraction": lambda client, key: client.set(key, "1.5"),
    "below zero": lambda client, key: client.set(key, -5),
    "too large": lambda client, key: client.set(key, BAND),
    "the largest": lambda client, key: client.set(key, 2**63 - 1),
    "no whole number": lambda client, key: client.set(key, "9" * 30),
    "a list": lambda client, key: client.rpush(key, "x"),
    "a hash": lambda client, key: client.hset(key, "x", "y"),
}


def spoil(desk: Desk, garbage: str) -> None:
    desk.client.delete(desk.keys.seq)
    GARBAGE[garbage](desk.client, desk.keys.seq)


def numbers(desk: Desk) -> set[int]:
    """Every fence and generation that is stored."""
    fields = ("u", "f", "uo")
    keys = [key for key in desk.client.scan_iter(f"{desk.keys.task('')}*") if b"#" not in key]
    return {int(value) for key in keys for value in desk.client.hmget(key, fields) if value}


@pytest.mark.parametrize("garbage", GARBAGE)
@pytest.mark.parametrize(
    "act",
    [
        lambda desk: desk.push("a"),
        lambda desk: desk.push("a", "b", lane="other"),
        lambda desk: desk.push("a", tags=("red",), delay_ms=NEVER_MS),
        lambda desk: desk.push("failed"),
        lambda desk: desk.claim(1),
        lambda desk: desk.told("retry", "failed"),
        lambda desk: desk.told("release", "held"),
        lambda desk: desk.expire("held"),
    ],
    ids=["alone", "in a lane", "postponed", "again", "claim", "retry", "release", "recover"],
)
def test_garbage_in_the_counter_is_mended_with_numbers_that_nobody_has(
    desk: Desk, garbage: str, act: Callable[[Desk], object]
) -> None:
    desk.push("failed", "held", "ready", retries=5)
    failed, _held = desk.claim(2)
    desk.settle(failed, Outcome.ERROR, delay_ms=-1, fingerprint="f")
    before = numbers(desk)
    spoil(desk, garbage)
    act(desk)
    fresh = numbers(desk) - before
    assert fresh
    assert max(before) < min(fresh)
    assert max(fresh) < BAND
    assert int(desk.client.get(desk.keys.seq)) >= max(fresh)


@pytest.mark.parametrize("garbage", GARBAGE)
def test_a_task_that_is_handed_over_gets_a_number_of_its_own(desk: Desk, garbage: str) -> None:
    desk.push("before")
    before = numbers(desk)
    desk.drain()
    desk.exchange("w1", want=1, idle=True)
    spoil(desk, garbage)
    desk.push("a")
    assert desk.state("a") == "locked"
    assert numbers(desk) - before


def test_the_watchdog_names_the_counter_that_was_mended(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    spoil(desk, "text")
    desk.push("a")
    with caplog.at_level(logging.ERROR):
        Watchdog(desk.broker).round()
    assert f"the key {desk.keys.seq} did not hold a valid number" in caplog.text
    caplog.clear()
    Watchdog(desk.broker).round()
    assert not caplog.records


@pytest.mark.parametrize("value", [None, 0, 3])
def test_a_counter_that_was_set_back_is_found_by_the_next_claim(desk: Desk, value: int | None) -> None:
    desk.push(*"abcdef", retries=5)
    frozen = desk.lease("w1")
    desk.claim(4, "w2")
    desk.tick()
    desk.expire(frozen.id)
    before = numbers(desk)
    desk.client.delete(desk.keys.seq) if value is None else desk.client.set(desk.keys.seq, value)
    leases = desk.claim(5, "w3")
    assert min(lease.fence for lease in leases) > max(before)
    assert desk.settle(frozen) == "STALE"


def test_a_counter_that_was_set_back_is_found_by_the_next_tick(desk: Desk) -> None:
    desk.push(*"abc")
    desk.claim(3)
    desk.tick()
    desk.client.set(desk.keys.seq, 1)
    desk.tick()
    assert int(desk.client.get(desk.keys.seq)) > max(numbers(desk))


def test_a_tick_leaves_a_counter_alone_that_is_well(desk: Desk) -> None:
    desk.tick()
    assert desk.client.get(desk.keys.seq) is None
    desk.push("a")
    before = desk.client.get(desk.keys.seq)
    desk.tick()
    assert desk.client.get(desk.keys.seq) == before


@pytest.mark.parametrize("garbage", GARBAGE)
def test_a_command_that_comes_while_the_counter_is_garbage_brings_its_task_into_a_lane(
    make_desk: Callable[..., Desk], garbage: str
) -> None:
    desk = make_desk()
    pools = Pools(desk.broker, "north")
    pools.plant(chain_of("c", "a", "b"), a="north", b="north")
    commands = pools.take("default")
    spoil(pools["north"], garbage)
    pools.tell("default", *pools.apply(*commands))
    assert pools.drain() == ["a", "b"]
    assert pools.states("c", "a", "b") == ["succeeded"] * 3
    pools.check()


def test_a_settlement_that_meets_garbage_loses_nothing(desk: Desk) -> None:
    desk.push("a", "b", retries=3)
    leases = desk.claim(2)
    spoil(desk, "text")
    ends = [end(leases[0], Outcome.RELEASE), end(leases[1], Outcome.ERROR, delay_ms=NEVER_MS, fingerprint="f")]
    assert desk.exchange(settle=ends).settled == ["OK", "OK"]
    assert desk.broker.push([make("c")])[0].word == "OK"
    assert sorted(desk.drain()) == ["a", "c"]
