"""Another program wrote to a key of ours: an error that names it, no task lost, and work that goes on where it can."""

from __future__ import annotations

import logging
import re

import pytest

from queueops.errors import BrokenPool
from queueops.model.contracts import Lease, Outcome, Push
from queueops.watchdog import Watchdog
from tests.kernel.desk import Desk, make

PASSING = [
    "state:pending",
    "counts",
    "names",
    "errors",
    "name:tests.noop",
    "lane:other",
    "clock",
    "idle",
    "workers",
]
BLOCKING = ["agenda", "lanes:ready"]


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


def refused(desk: Desk, name: str, *pushes: Push) -> None:
    """A push that fails with the key's name and changes nothing; it is possible when the key is gone."""
    key = spoil(desk, name)
    before = desk.everything()
    with pytest.raises(BrokenPool, match=re.escape(key)):
        desk.broker.push(pushes)
    assert desk.everything() == before
    desk.client.delete(key)
    assert [pushed.word for pushed in desk.broker.push(pushes)] == ["OK"] * len(pushes)


@pytest.mark.parametrize("name", ["lane:default", "lane:default#conf", "lanes:ready"])
@pytest.mark.parametrize("ids", ["a", "abc"], ids=["one", "some"])
def test_a_task_that_cannot_be_placed_is_not_pushed(desk: Desk, name: str, ids: str) -> None:
    refused(desk, name, *map(make, ids))
    assert desk.drain() == list(ids)


@pytest.mark.parametrize("ids", ["a", "abc"], ids=["one", "some"])
def test_a_delay_that_cannot_be_written_down_is_not_pushed(desk: Desk, ids: str) -> None:
    refused(desk, "agenda", *(make(task_id, delay_ms=60_000) for task_id in ids))
    desk.make_due(*ids)
    desk.tick()
    assert sorted(desk.drain()) == list(ids)


def test_of_unlike_tasks_none_is_pushed_when_one_cannot_be_placed(desk: Desk) -> None:
    desk.push("waits", lane="full")
    refused(desk, "lane:side", make("a", lane="full"), make("b", lane="side"), make("c"))
    assert sorted(desk.drain()) == ["a", "b", "c", "waits"]


def test_a_lanes_slots_that_are_none_refuse_what_is_pushed_to_it(desk: Desk) -> None:
    desk.broker.lane("default", "side", limit=2)
    refused(desk, "lane:side#active", make("a", lane="side"))
    assert desk.drain() == ["a"]


def test_an_id_in_use_is_not_pushed_anew_where_it_cannot_be_placed(desk: Desk) -> None:
    desk.push("a", "b")
    assert desk.drain() == ["a", "b"]
    for name in ("lane:default", "agenda", "lanes:ready"):
        key, before = spoil(desk, name), desk.everything()
        with pytest.raises(BrokenPool, match=re.escape(key)):
            desk.push("a", "b")
        after = desk.everything()
        assert {k: after[k] for k in after if ":agenda" not in k} == {
            k: before[k] for k in before if ":agenda" not in k
        }
        desk.client.delete(key)
    desk.client.flushall()


def test_what_would_be_handed_over_is_not_pushed_without_an_agenda(desk: Desk) -> None:
    desk.exchange("w1", want=1, idle=True)
    refused(desk, "agenda", make("a"))
    assert desk.state("a") == "locked"


def test_a_wake_up_that_cannot_be_written_loses_no_task(desk: Desk) -> None:
    desk.exchange("w1", want=1, idle=True)
    key = spoil(desk, "wake:w1")
    desk.push("a", "b")
    desk.client.delete(key)
    assert sorted(desk.drain()) == ["a", "b"]


def test_a_task_that_comes_back_to_a_lane_that_is_none_waits_on_the_agenda(desk: Desk) -> None:
    desk.push("a", "b")
    lease = desk.lease()
    desk.client.delete(spoil(desk, "lane:other"))
    key = spoil(desk, "lane:default")
    assert desk.settle(lease, Outcome.RELEASE) == "OK"
    for _ in range(2):
        assert desk.client.zscore(desk.keys.agenda, "a")
        desk.make_due("a")
        desk.tick()
    desk.client.delete(key)
    desk.make_due("a")
    desk.tick()
    assert desk.drain() == ["a"]
    desk.client.flushall()


@pytest.mark.parametrize("verb", ["postpone", "cancel", "run_now"])
def test_an_operators_verb_changes_nothing_without_an_agenda(desk: Desk, verb: str) -> None:
    desk.push("a", delay_ms=60_000)
    desk.put_off("a")
    key = spoil(desk, "agenda")
    before = desk.everything()
    with pytest.raises(BrokenPool, match=key):
        desk.control(verb, "a", value=1000)
    assert desk.everything() == before
    desk.client.flushall()
