"""What is told of composites while it happens: each end once, and how far the whole is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from queueops.eager.execution import run
from queueops.model.contracts import Outcome
from tests.composites.channel import CHANNEL
from tests.composites.trees import chain_of, group_of, plant
from tests.composites.work import Count, seen
from tests.kernel.desk import Desk

ENDS = ("succeeded", "failed", "cancelled")


class Follower:
    """The events of the desk's pool, from now on."""

    def __init__(self, desk: Desk) -> None:
        desk.client.set(f"{desk.keys.prefix}:tail", 1, ex=600)
        self.channel = desk.client.pubsub(ignore_subscribe_messages=True)
        self.channel.subscribe(f"{desk.keys.prefix}:events")
        self.channel.get_message(timeout=60)  # the answer that it is subscribed
        self.desk = desk

    def events(self) -> list[dict[str, Any]]:
        """Those that came since, up to now."""
        mark = f"mark {self.desk.now()}"
        self.desk.client.publish(f"{self.desk.keys.prefix}:events", json.dumps({"mark": mark}))
        found: list[dict[str, Any]] = []
        while True:
            message = self.channel.get_message(timeout=60)
            event = json.loads(message["data"]) if message else None
            if event and event.get("mark") == mark:
                return found
            found += [event] if event else []

    def ends(self) -> list[str]:
        """The ids of those that ended, in order."""
        return [event["id"] for event in self.events() if event.get("to") in ENDS]


@pytest.fixture
def follower(desk: Desk) -> Iterator[Follower]:
    made = Follower(desk)
    yield made
    made.channel.close()
    desk.client.delete(f"{desk.keys.prefix}:tail")


def test_a_composite_ends_after_its_last_part_and_each_is_told_once(desk: Desk, follower: Follower) -> None:
    plant(desk, chain_of("c", "a", group_of("g", "x", "y"), "z"))
    desk.drain()
    assert follower.ends() == ["a", "x", "y", "g", "z", "c"]


def test_of_a_cancelled_composite_each_end_is_told_once_and_what_had_ended_is_not_told_again(
    desk: Desk, follower: Follower
) -> None:
    plant(desk, chain_of("c", "a", "b", group_of("g", "x", "y")))
    desk.settle(desk.lease())
    desk.told("cancel", "c")
    desk.told("cancel", "c")
    ends = follower.ends()
    assert ends[:2] == ["a", "c"]
    assert sorted(ends[2:]) == ["b", "g", "x", "y"]
    assert desk.state("a") == "succeeded"


def test_siblings_that_an_error_cancels_are_told_too(desk: Desk, follower: Follower) -> None:
    plant(desk, group_of("g", "a", "b", "c"))
    desk.settle(desk.lease(), Outcome.ERROR, b"{}", delay_ms=-1)
    ends = follower.ends()
    assert ends[:2] == ["a", "g"]
    assert sorted(ends[2:]) == ["b", "c"]


def test_what_runs_when_its_group_is_cancelled_is_told_when_it_has_ended(desk: Desk, follower: Follower) -> None:
    plant(desk, group_of("g", "a", "b"))
    a = desk.lease()
    desk.told("cancel", "g")
    assert sorted(follower.ends()) == ["b", "g"]
    desk.settle(a, Outcome.CANCEL, b"told to")
    assert follower.ends() == ["a"]


def test_progress_of_the_whole_is_told_as_its_leaves_end(desk: Desk, follower: Follower) -> None:
    plant(desk, chain_of("c", "a", group_of("g", "x", "y")))
    desk.drain()
    events = [event for event in follower.events() if event["id"] == "c"]
    told = [(event["done"], event["total"]) for event in events if "to" not in event]
    assert told == [("1", "3"), ("2", "3"), ("3", "3")]
    assert [(event["done"], event["to"]) for event in events if "to" in event] == [
        ("0", "waiting"), ("0", "idle"), ("3", "succeeded"),
    ]  # fmt: skip


def test_an_iterator_and_its_tasks_are_told_once_each_the_iterator_last(desk: Desk, follower: Follower) -> None:
    seen.clear()
    handle = Count.push(5)
    while leases := desk.claim(1):
        desk.exchange(settle=[run(leases[0], CHANNEL)])
    ends = follower.ends()
    assert len(ends) == len(set(ends)) == 6
    assert ends[-1] == handle.id
