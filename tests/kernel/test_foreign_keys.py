"""Somebody else wrote to a key of ours: an error that names it, no task lost, and work that goes on where it can."""

from __future__ import annotations

import logging

import pytest

from queueops.contracts import Lease
from queueops.errors import BrokenPool
from queueops.watchdog import Watchdog
from tests.kernel.desk import Desk

PASSING = ["state:pending", "counts", "names", "errors", "name:tests.noop", "lane:other"]
BLOCKING = ["agenda", "clock", "seq", "lanes:ready", "idle"]


def spoil(desk: Desk, name: str) -> str:
    key = f"{desk.keys.prefix}:{name}"
    desk.client.delete(key)
    desk.client.rpush(key, "garbage")
    return key


@pytest.mark.parametrize("name", PASSING)
def test_work_goes_on_beside_an_index_that_is_none_and_the_watchdog_names_it(
    desk: Desk, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    desk.push("before")
    if name == "lane:other":
        desk.push("stuck", lane="other")
    key = spoil(desk, name)
    desk.push("after", retries=1)
    assert desk.drain()[:2] == ["before", "after"]
    assert desk.states("before", "after") == ["succeeded", "succeeded"]
    with caplog.at_level(logging.ERROR):
        Watchdog(desk.broker).round()
    assert f"the key {key} holds something else than it should" in caplog.text
    desk.client.flushall()


def settle_and_claim(desk: Desk, lease: Lease) -> None:
    desk.settle(lease)
    desk.claim(1)
    desk.tick()


@pytest.mark.parametrize("name", BLOCKING)
def test_an_outcome_is_kept_until_the_key_that_blocks_the_pool_is_gone(desk: Desk, name: str) -> None:
    desk.push("a", "b")
    lease = desk.lease()
    key = spoil(desk, name)
    with pytest.raises(BrokenPool, match=key):
        settle_and_claim(desk, lease)
    desk.client.delete(key)
    assert desk.settle(lease) in ("OK", "REPEAT")
    assert desk.state("a") == "succeeded"
    assert desk.client.zscore(desk.keys.state("succeeded"), "a")
    desk.client.flushall()
