"""The tree of a composite is there as a whole, or not at all, whatever becomes of its producer."""

from __future__ import annotations

from typing import Any

import pytest

from queueops.errors.composites import CompositePushExpired, PartInUse
from queueops.model.contracts import Conflict
from tests.composites.trees import Died, chain_of, die_after, group_of, nodes_of, plant
from tests.kernel.desk import Desk

LARGE = [f"x{number}" for number in range(1200)]


def test_the_same_push_again_changes_nothing(desk: Desk) -> None:
    first = plant(desk, chain_of("c", "a", "b"), token="t1")
    before = desk.everything()
    again = plant(desk, chain_of("c", "a", "b"), token="t1")
    assert (first.word, again.word) == ("OK", "REPEAT")
    assert again.uid == first.uid
    assert desk.everything() == before


def test_the_same_push_again_changes_nothing_when_it_came_in_parts(desk: Desk) -> None:
    plant(desk, group_of("g", *LARGE), token="t1")
    before = desk.everything()
    assert plant(desk, group_of("g", *LARGE), token="t1").word == "REPEAT"
    assert desk.everything() == before


def test_an_id_that_is_in_use_is_left_alone(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    assert plant(desk, chain_of("c", "y", "z")).word == "EXISTS"
    assert plant(desk, chain_of("c", "y", "z"), conflict=Conflict.REJECT).word == "REJECTED"
    assert desk.states("y", "z") == ["", ""]


def test_an_ended_composite_is_run_anew_and_late_ends_of_the_old_one_count_nothing(desk: Desk) -> None:
    plant(desk, group_of("g", "a", "b"))
    a, _ = desk.claim(2)
    desk.told("cancel", "g")
    assert plant(desk, group_of("g", "y", "z")).word == "OK"
    desk.settle(a, value=b"1")
    desk.check()
    assert desk.states("g", "a", "y", "z") == ["idle", "succeeded", "pending", "pending"]
    assert desk.record("g").progress == 0


def test_a_part_whose_id_is_in_use_stops_the_push_and_nothing_is_written(desk: Desk) -> None:
    desk.push("b")
    with pytest.raises(PartInUse, match=r"'b'.*pending"):
        plant(desk, chain_of("c", "a", "b"))
    assert desk.states("c", "a") == ["", ""]


def test_a_part_whose_id_is_in_use_stops_a_large_push_and_all_is_erased(desk: Desk) -> None:
    desk.push("x1100")
    with pytest.raises(PartInUse):
        plant(desk, group_of("g", *LARGE))
    while desk.state("g"):
        desk.tick()
    assert desk.drain() == ["x1100"]
    assert desk.client.zcard(desk.keys.state("waiting")) == 0


def test_a_part_whose_id_has_ended_is_run_anew(desk: Desk) -> None:
    desk.push("b")
    desk.drain()
    plant(desk, chain_of("c", "a", "b"))
    assert desk.drain() == ["a", "b"]
    assert desk.state("c") == "succeeded"


@pytest.mark.parametrize("calls", [1, 2, 3])
def test_of_a_producer_that_died_half_way_nothing_is_left(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    with monkeypatch.context() as patch:
        die_after(desk.broker, patch, calls)
        with pytest.raises(Died):
            plant(desk, chain_of("c", group_of("g", *LARGE), "z"))
    desk.check()
    assert desk.claim() == []
    while desk.server.keys(f"{desk.keys.prefix}:task:*"):
        desk.make_due(*(each.decode() for each in desk.client.zrange(desk.keys.agenda, 0, -1)))
        desk.tick()


def test_a_producer_that_was_too_slow_is_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    real = desk.broker._call

    def slow(script: str, *arguments: Any) -> Any:
        if script == "plant" and arguments[3] == "start":
            desk.make_due("~planting:g")
            while desk.state("g"):
                desk.tick()
        return real(script, *arguments)

    monkeypatch.setattr(desk.broker, "_call", slow)
    with pytest.raises(CompositePushExpired, match=r"g.*1201 tasks"):
        plant(desk, group_of("g", *LARGE))


def test_a_composite_may_begin_later(desk: Desk) -> None:
    nodes = nodes_of(chain_of("c", "a", "b"))
    nodes[0].push.delay_ms = 60_000
    nodes[2].push.delay_ms = 30_000
    desk.broker.plant(nodes)
    desk.check()
    assert desk.states("c", "a") == ["postponed", "waiting"]
    desk.make_due("c")
    desk.tick()
    assert desk.states("c", "a") == ["idle", "pending"]
    desk.settle(desk.lease())
    assert desk.states("c", "b") == ["idle", "postponed"]
    assert desk.told("run_now", "b") == "OK"
    assert desk.drain() == ["b"]
    assert desk.state("c") == "succeeded"


def test_a_postponed_composite_can_be_run_now(desk: Desk) -> None:
    nodes = nodes_of(group_of("g", "a", "b"))
    nodes[0].push.delay_ms = 60_000
    desk.broker.plant(nodes)
    assert desk.told("run_now", "g") == "OK"
    assert sorted(desk.drain()) == ["a", "b"]


@pytest.mark.parametrize("conflict", [Conflict.REPLACE, Conflict.REPLACE_POSTPONED, Conflict.IGNORE])
def test_a_part_is_not_replaced_by_a_push_with_its_id(desk: Desk, conflict: Conflict) -> None:
    plant(desk, group_of("g", "a", "b"))
    assert desk.word("a", conflict, priority=7) == "EXISTS"
    assert desk.record("a").priority == 0
    assert sorted(desk.drain()) == ["a", "b"]
    assert desk.state("g") == "succeeded"
