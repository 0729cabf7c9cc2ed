"""Records that were lost by a fault: the watchdog finds their parents, which end as their policy says."""

from __future__ import annotations

import pytest

from queueops.model.contracts import Node
from tests.composites.trees import Tree, chain_of, group_of, open_children, plant
from tests.kernel.desk import Desk, make


def lose(desk: Desk, *ids: str) -> None:
    """The records of these tasks are gone."""
    for task_id in ids:
        desk.client.delete(desk.keys.task(task_id))
        desk.broken.add(task_id)


def look(desk: Desk, rounds: int = 1) -> dict[str, int]:
    """The watchdog's rounds, after all have stood where they are for a while; what was done."""
    acted: dict[str, int] = {}
    for _ in range(rounds):
        for state in ("idle", "waiting"):
            key = desk.keys.state(state)
            if members := desk.client.zrange(key, 0, -1):
                desk.client.zadd(key, dict.fromkeys(members, desk.now() - 20_000))
        for word, count in desk.tick().items():
            acted[word] = acted.get(word, 0) + count
    return acted


def test_a_chain_whose_running_part_is_lost_fails_with_the_reason(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    desk.lease()
    lose(desk, "a")
    assert look(desk)["lost part"] == 1
    assert desk.states("c", "b") == ["failed", "cancelled"]
    assert desk.record("c").reason == "its child a failed: its record is lost"
    assert open_children(desk, "c") == set()


@pytest.mark.parametrize(
    ("policy", "ends"),
    [("fail", "failed cancelled"), ("continue", "failed succeeded"), ("outcomes", "succeeded succeeded")],
)
def test_a_group_judges_a_lost_part_by_its_policy(desk: Desk, policy: str, ends: str) -> None:
    plant(desk, group_of("g", "a", "b", of=policy))
    lose(desk, "a")
    look(desk)
    desk.drain()
    assert desk.states("g", "b") == ends.split()
    assert "its record is lost" in f"{desk.record('g').reason} {desk.record('g').result}"


def test_a_lost_composite_ends_its_parent_and_what_waited_in_it(desk: Desk) -> None:
    plant(desk, chain_of("c", group_of("g", "a", chain_of("d", "x", "y")), "b"))
    lose(desk, "g")
    look(desk, 2)
    assert desk.state("c") == "failed"
    assert desk.client.zscore(desk.keys.state("quarantined"), "g")
    desk.client.delete(f"{desk.keys.task('g')}#children", f"{desk.keys.task('g')}#open")
    assert desk.drain() == ["a", "x", "y"]  # what had begun runs on, and no part waits for it
    desk.check()
    desk.told("discard", "g")


def test_what_waits_for_its_turn_in_a_lost_parent_is_cancelled(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", chain_of("d", "x", "y")))
    lose(desk, "c")
    assert look(desk)["lost parent"] == 1
    assert desk.states("d", "x", "y") == ["cancelled"] * 3
    assert desk.record("d").reason == "the record of c is lost, which it is part of"
    desk.client.delete(f"{desk.keys.task('c')}#children", f"{desk.keys.task('c')}#open")
    desk.told("discard", "c")
    desk.drain()


def test_a_composite_whose_list_of_open_children_is_lost_fails(desk: Desk) -> None:
    plant(desk, group_of("g", "a", "b"))
    desk.client.delete(f"{desk.keys.task('g')}#open")
    look(desk)
    assert desk.state("g") == "failed"
    assert desk.record("g").reason == "the list of its open children is lost"
    assert sorted(desk.drain()) == ["a", "b"]


@pytest.mark.parametrize("tree", [group_of("g", "a", "b"), chain_of("g", "a", chain_of("d", "b"))])
def test_nothing_is_lost_in_a_tree_that_is_whole(desk: Desk, tree: Tree) -> None:
    plant(desk, tree)
    a = desk.lease()
    assert look(desk, 3) == {}
    desk.settle(a)
    desk.drain()
    assert desk.state("g") == "succeeded"


def test_what_has_begun_just_now_is_not_looked_at(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", "b"))
    lose(desk, "b")
    assert desk.tick() == {}
    assert desk.state("c") == "idle"
    look(desk)


def test_among_many_a_lost_part_is_found_in_some_rounds(desk: Desk) -> None:
    for number in range(25):
        plant(desk, group_of(f"g{number}", *[f"a{number}.{n}" for n in range(40)]))
    lose(desk, "a17.3")
    rounds = 0
    while desk.state("g17") == "idle":
        rounds += 1
        assert rounds < 1000
        look(desk)
    assert desk.record("g17").reason == "its child a17.3 failed: its record is lost"
    assert desk.states("g16", "g18") == ["idle", "idle"]


LISTS = ("#children", "#open", "#results")


@pytest.mark.parametrize("part", LISTS)
@pytest.mark.parametrize("when", ["before anything ran", "when one has ended"])
@pytest.mark.parametrize("tree", [group_of("g", "a", "b"), chain_of("g", "a", "b")], ids=["group", "chain"])
def test_a_list_of_another_type_never_makes_a_wrong_result(desk: Desk, tree: Tree, when: str, part: str) -> None:
    plant(desk, tree)
    if when == "when one has ended":
        desk.settle(desk.lease(), value=b"1")
    key = f"{desk.keys.task('g')}{part}"
    desk.client.delete(key)
    desk.client.set(key, "garbage")
    while (leases := desk.claim(1)) or look(desk):
        for lease in leases:
            desk.settle(lease, value=b"2")
    record = desk.record("g")
    if part == "#results" and tree.kind == "chain":
        assert record.result == b"2"
    else:
        assert record.state == "failed"
        assert record.reason == f"the key {key} holds something else than it should: what it knows of its parts is lost"
    desk.client.flushall()


@pytest.mark.parametrize("part", ["#open", "#planted", "#drafts"])
def test_an_iterator_whose_list_is_of_another_type_fails(desk: Desk, part: str) -> None:
    desk.push("pages", kind="iterator", own=(("wi", 2),))
    lease = desk.lease()
    root = Node(make("pages", kind="iterator"))
    if part == "#drafts":
        desk.client.set(f"{desk.keys.task('pages')}{part}", "garbage")
    desk.broker.emit(lease, [root, *(Node(make(f"p{number}"), 0, number) for number in range(5))], "done", b"1")
    desk.settle(lease)
    if part != "#drafts":
        key = f"{desk.keys.task('pages')}{part}"
        desk.client.delete(key)
        desk.client.set(key, "garbage")
    while (leases := desk.claim(1)) or look(desk):
        for each in leases:
            desk.settle(each)
    ended = desk.states("pages", *(f"p{number}" for number in range(5)))
    assert ended == ["succeeded"] * 6 if part == "#drafts" else ended[0] == "failed"
    desk.client.flushall()
