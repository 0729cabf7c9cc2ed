"""Cancelling, deleting, quarantine and retention of a composite and of its parts."""

from __future__ import annotations

import json
from itertools import permutations

import pytest

from queueops.model.contracts import Conflict, Outcome
from tests.composites.trees import chain_of, group_of, nodes_of, open_children, plant
from tests.kernel.desk import Desk

ALL = ["g", "a", "c", "x", "y", "b"]


def planted(desk: Desk) -> None:
    plant(desk, group_of("g", "a", chain_of("c", "x", "y"), "b"))


def test_a_cancelled_composite_cancels_what_is_below_and_tells_what_runs(desk: Desk) -> None:
    planted(desk)
    a = desk.lease()
    assert desk.told("cancel", "g", value="enough") == "OK"
    assert desk.states(*ALL) == ["cancelled", "locked", "cancelled", "cancelled", "cancelled", "cancelled"]
    assert desk.extend(a).cancels == [("a", "g was cancelled: enough")]
    desk.settle(a, Outcome.CANCEL, b"told to")
    assert desk.states("g", "a") == ["cancelled", "cancelled"]


def test_a_cancelled_part_counts_as_failed(desk: Desk) -> None:
    planted(desk)
    assert desk.told("cancel", "y") == "OK"
    assert desk.states("c", "x", "g", "a", "b") == ["failed", "cancelled", "failed", "cancelled", "cancelled"]
    assert desk.record("c").reason.endswith("its child y was cancelled")


def test_a_cancelled_part_within_a_group_of_outcomes_is_one_of_them(desk: Desk) -> None:
    plant(desk, group_of("g", "a", chain_of("c", "x", "y"), of="outcomes"))
    desk.told("cancel", "c", value="no")
    assert desk.drain() == ["a"]
    outcomes = json.loads(desk.record("g").result)
    assert [outcome["state"] for outcome in outcomes] == ["succeeded", "cancelled"]


def test_a_long_reason_is_cut_between_two_characters(desk: Desk) -> None:
    plant(desk, group_of("g", chain_of("c", "x"), chain_of("cc", "yy"), of="outcomes"))
    desk.told("cancel", "x", value="ü" * 500)
    desk.told("cancel", "yy", value="ü" * 500)
    assert [outcome["state"] for outcome in json.loads(desk.record("g").result)] == ["failed", "failed"]
    for part in ("c", "cc"):
        assert desk.record(part).reason.rstrip("ü").endswith(" was cancelled: ")


def test_cancelling_parts_and_their_parent_in_one_call_ends_each_once(desk: Desk) -> None:
    planted(desk)
    desk.control("cancel", "x", "g", "b", "a")
    desk.check()
    assert set(desk.states(*ALL)) == {"cancelled"}
    assert len(desk.check().scores("state:cancelled")) == len(ALL)


@pytest.mark.parametrize("order", list(permutations(["g", "x", "b"])))
def test_any_order_of_cancelling_leaves_each_ended_once(desk: Desk, order: tuple[str, ...]) -> None:
    planted(desk)
    for task_id in order:
        desk.told("cancel", task_id)
        desk.check()
    assert set(desk.states(*ALL)) <= {"cancelled", "failed"}


def test_a_thousand_levels_are_cancelled(desk: Desk) -> None:
    tree = chain_of("c999", "leaf", "other")
    for depth in range(998, -1, -1):
        tree = chain_of(f"c{depth}", tree)
    plant(desk, tree)
    desk.told("cancel", "c0")
    while desk.states("leaf", "other") != ["cancelled", "cancelled"]:
        desk.tick()
    desk.check()
    assert desk.client.zcard(desk.keys.state("cancelled")) == 1002


def test_a_large_group_is_cancelled_in_parts(desk: Desk) -> None:
    plant(desk, group_of("g", *[f"x{number}" for number in range(1200)]))
    desk.told("cancel", "g")
    desk.check()
    while open_children(desk, "g"):
        desk.tick()
    desk.check()
    assert desk.client.zcard(desk.keys.state("cancelled")) == 1201


def test_a_quarantined_part_keeps_its_parent_waiting_until_an_operator_decides(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    desk.settle(desk.lease(), Outcome.QUARANTINE, b"unreadable")
    assert desk.states("c", "a", "b") == ["idle", "quarantined", "waiting"]
    desk.told("requeue", "a")
    assert desk.drain() == ["a", "b"]
    assert desk.state("c") == "succeeded"


def test_a_quarantined_part_that_is_discarded_counts_as_failed(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    desk.settle(desk.lease(), Outcome.QUARANTINE, b"unreadable")
    assert desk.told("discard", "a") == "OK"
    assert desk.states("c", "a", "b") == ["failed", "", "cancelled"]
    assert desk.record("c").reason == "its child a failed: it was discarded"


def test_a_part_whose_record_is_lost_before_its_turn_fails_the_chain(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    desk.client.delete(desk.keys.task("b"))
    desk.broken.add("b")
    desk.settle(desk.lease())
    assert desk.state("c") == "failed"
    assert desk.record("c").reason == "its child b failed: its record is lost"


def test_a_composite_whose_record_is_lost_is_discarded_with_its_lists(desk: Desk) -> None:
    plant(desk, group_of("g", "a", "b"))
    desk.client.delete(desk.keys.task("g"))
    desk.broken.add("g")
    step = desk.broker.check("default", repair=True)
    while step.next:
        step = desk.broker.check("default", step.next, repair=True)
    assert desk.told("discard", "g") == "OK"
    assert not [*desk.client.scan_iter(match=desk.keys.task("g") + "*")]


def test_a_part_can_not_be_replaced_by_another_push(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    for conflict in (Conflict.REPLACE, Conflict.IGNORE):
        assert desk.word("a", conflict) == "EXISTS"
        assert desk.word("c", conflict) == "EXISTS"


def test_a_push_that_runs_after_a_part_leaves_the_parent_its_result(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    assert desk.word("a", Conflict.RUN_AFTER) == "AFTER"
    desk.settle(desk.lease(), value=b"7")
    assert desk.state("a") == "pending"
    assert desk.record("b").previous == b"7"
    assert set(desk.drain()) == {"a", "b"}
    assert desk.state("c") == "succeeded"


def test_parts_are_kept_as_long_as_their_parent(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    desk.settle(desk.lease())
    desk.make_due("a")
    desk.tick()
    assert desk.state("a") == "succeeded"
    desk.drain()
    desk.make_due("a", "b")
    desk.tick()
    assert desk.states("c", "a", "b") == ["succeeded"] * 3
    desk.make_due("c")
    desk.tick()
    desk.check()
    desk.make_due("a", "b")
    desk.tick()
    assert not desk.server.keys(f"{desk.keys.prefix}:task:*")


def test_a_deleted_composite_leaves_no_children_behind(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    desk.drain()
    assert desk.told("delete", "c") == "OK"
    desk.check()
    assert desk.told("restore", "c") == "OK"
    assert desk.state("c") == "succeeded"


def test_a_deleted_composite_comes_back_with_its_parts_which_are_kept_meanwhile(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", group_of("g", "x", "y", of="continue"), "b"))
    desk.settle(desk.lease(), value=b"7")
    x, y = desk.claim(2)
    desk.settle(x, Outcome.ERROR, b"{}", delay_ms=-1)
    desk.settle(y)
    assert desk.told("delete", "c") == "OK"
    desk.make_due("a", "g", "x", "y", "b")
    desk.tick()
    assert desk.states("a", "g", "x", "y", "b") == ["succeeded", "failed", "failed", "succeeded", "cancelled"]
    assert desk.told("restore", "c") == "OK"
    desk.check()
    assert desk.told("retry", "c") == "OK"
    assert desk.drain() == ["x", "b"]
    assert desk.states("c", "g") == ["succeeded"] * 2


def test_what_lay_in_the_trash_goes_with_its_parts(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    desk.drain()
    for _ in range(2):  # what lies there already makes way
        desk.told("delete", "c")
        desk.told("restore", "c")
    desk.told("delete", "c")
    desk.make_due("~trash:c")
    desk.tick()
    assert not desk.server.keys(f"{desk.keys.prefix}:trash:*")
    desk.make_due("a", "b")
    desk.tick()
    assert not desk.server.keys(f"{desk.keys.prefix}:task:*")


def test_parts_that_were_to_be_cancelled_yet_are_when_their_composite_comes_back(desk: Desk) -> None:
    plant(desk, group_of("g", *(f"p{number:04}" for number in range(1500))))
    desk.told("cancel", "g")
    assert open_children(desk, "g"), "all were cancelled in one call"
    desk.told("delete", "g")
    desk.tick()  # the agenda has nothing of it then
    desk.told("restore", "g")
    assert open_children(desk, "g")
    for _ in range(4):
        desk.tick()
    assert open_children(desk, "g") == set()
    desk.check()


@pytest.mark.parametrize("target", ["x", "y"])
def test_a_part_that_is_cancelled_before_the_chain_around_it_begins_fails_that_when_its_turn_comes(
    desk: Desk, target: str
) -> None:
    plant(desk, chain_of("c", "a", chain_of("d", "x", "y"), "b"))
    desk.told("cancel", target)
    desk.check()
    assert desk.states("c", "d") == ["idle", "waiting"]
    assert desk.drain() == (["a"] if target == "x" else ["a", "x"])
    assert desk.states("d", "c", "b") == ["failed", "failed", "cancelled"]
    assert f"its child {target} was cancelled" in desk.record("d").reason


@pytest.mark.parametrize(("policy", "end"), [("fail", "failed"), ("continue", "failed"), ("outcomes", "succeeded")])
@pytest.mark.parametrize("cancelled", ["x", "x y"])
def test_a_group_judges_what_was_cancelled_before_it_began(desk: Desk, policy: str, end: str, cancelled: str) -> None:
    plant(desk, chain_of("c", "a", group_of("g", "x", "y", of=policy)))
    for task_id in cancelled.split():
        desk.told("cancel", task_id)
    desk.drain()
    assert desk.states("g", "c") == [end, end]
    assert open_children(desk, "g") == set()


def test_a_delayed_composite_judges_what_was_cancelled_before_its_time(desk: Desk) -> None:
    tree = nodes_of(group_of("g", "x", "y"))
    tree[0].push.delay_ms = 1_000_000
    desk.broker.plant(tree)
    desk.told("cancel", "x")
    assert desk.states("g", "y") == ["postponed", "waiting"]
    assert desk.told("run_now", "g") == "OK"
    assert desk.states("g", "y") == ["failed", "cancelled"]
