"""Bad data in a record is put aside and shown; its neighbours run on, and no call fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from queueops import inspect
from queueops.model import kinds
from queueops.model.contracts import Conflict, Outcome
from tests.kernel.desk import NEVER_MS, POOL, Desk, end, ids_of
from tests.support.for_each import for_each

GARBAGE = (b"\xff\xfe\x00", b"", b"nan", b"-inf", b"1e400", b"0x10", b"quite", b"9" * 30)
OUTCOMES = (Outcome.SUCCESS, Outcome.ERROR, Outcome.UNKNOWN, Outcome.CRASH, Outcome.RESTART, Outcome.RELEASE)
VICTIMS, NEIGHBOURS = ([f"{name}{number}" for number in range(len(OUTCOMES))] for name in ("victim", "neighbour"))
"""One of each for every outcome."""


def test_a_ready_task_without_a_record_is_put_aside_and_its_neighbours_run(desk: Desk) -> None:
    desk.push(*"abc")
    destroy(desk, "b")
    assert desk.drain() == ["a", "c"]
    assert aside(desk) == {"b"}


@pytest.mark.parametrize("garbage", [None, b"\xff\x00garbage"])
@pytest.mark.parametrize("state", ["pending", "postponed", "locked", "restart"])
def test_a_destroyed_record_is_put_aside_in_every_state_and_can_be_discarded(
    desk: Desk, state: str, garbage: bytes | None
) -> None:
    bring_to(desk, "a", state)
    desk.push("b")
    destroy(desk, "a", garbage)
    desk.make_due("a")
    desk.tick()
    assert ids_of(desk.claim(2)) == ["b"]
    assert aside(desk) == {"a"}
    desk.check()
    assert desk.told("discard", "a") == "OK"
    desk.broken.clear()
    desk.check()
    assert desk.push("a")[0].word == "OK"


@pytest.mark.parametrize("garbage", [None, b"\xff\x00garbage"])
@pytest.mark.parametrize("way", ["expired", "trimmed"])
def test_a_destroyed_record_of_an_ended_task_is_forgotten(desk: Desk, garbage: bytes | None, way: str) -> None:
    desk.push("a")
    desk.settle(desk.lease(), Outcome.ERROR, fingerprint="f1")
    destroy(desk, "a", garbage)
    if way == "trimmed":
        desk.broker.settings = desk.broker.settings.__class__(retention_cap=0)
    else:
        desk.make_due("a")
    desk.tick()
    desk.broken.clear()
    desk.check()
    assert aside(desk) == set()


def test_an_id_whose_record_was_lost_can_be_pushed_again(desk: Desk) -> None:
    for state in ("pending", "locked", "postponed"):
        bring_to(desk, "a", state)
        destroy(desk, "a")
        desk.make_due("a")
        desk.tick()
        desk.claim(5)
        desk.broken.clear()
        assert desk.word("a", Conflict.REPLACE) == "OK"
        desk.check()
        desk.drain()


def test_a_lost_record_whose_id_was_pushed_again_at_once_heals(desk: Desk) -> None:
    bring_to(desk, "a", "postponed")
    destroy(desk, "a")
    assert desk.word("a", Conflict.IGNORE) == "OK"
    desk.make_due("a")
    desk.tick()
    desk.broken.clear()
    desk.check()
    assert desk.drain() == ["a"]


def test_nothing_is_written_to_what_is_no_record(desk: Desk) -> None:
    desk.push("a")
    lease = desk.lease()
    destroy(desk, "a", b"garbage")
    calls: list[Callable[[], Any]] = [
        lambda: desk.settle(lease),
        lambda: desk.extend(lease),
        lambda: desk.broker.note(POOL, "a", lease.fence, done=1, line=b"x"),
        lambda: desk.broker.wait(POOL, "a"),
        lambda: desk.control("cancel", "a"),
        lambda: desk.broker.recover(POOL, "w1", {"a": end(lease)}),
        lambda: desk.push("a", conflict=Conflict.REPLACE),
    ]
    for call in calls:
        before = desk.everything()
        call()
        assert desk.everything() == before
        assert desk.client.get(desk.keys.task("a")) == b"garbage"


@for_each("field", [field for field in kinds.fields() if field not in ("s", "n")])
def test_garbage_in_a_field_stops_no_call_and_no_neighbour(desk: Desk, field: str) -> None:
    for garbage in GARBAGE:
        desk.client.flushall()
        desk.push(*VICTIMS, *NEIGHBOURS, retries=1, keep_ms=None)
        leases = {lease.id: lease for lease in desk.claim(len(VICTIMS) + len(NEIGHBOURS))}
        for victim, neighbour, outcome in zip(VICTIMS, NEIGHBOURS, OUTCOMES, strict=True):
            desk.client.hset(desk.keys.task(victim), field, garbage)
            ends = [end(leases[victim], outcome, delay_ms=50, fingerprint="f1"), end(leases[neighbour])]
            assert desk.exchange(settle=ends).settled[1] == "OK", (field, garbage, outcome)
            assert desk.state(neighbour) == "succeeded"
        walk(desk)
    desk.client.flushall()  # what is counted of the victim went to wherever the garbage said


def test_an_unreadable_number_is_left_out_of_the_lease(desk: Desk) -> None:
    desk.push("a", "b", retries=3)
    desk.client.hset(desk.keys.task("a"), mapping={"r": "many", "at": "x", "t": "soon", "u": "-", "cr": b"\xff"})
    unread, whole = sorted(desk.claim(2), key=lambda lease: lease.id)
    assert (unread.retries, unread.attempt, unread.timeout_ms, unread.crashes) == (0, 1, None, 0)
    assert (whole.retries, whole.attempt) == (3, 1)


def test_a_record_that_cannot_be_read_does_not_keep_the_other_leases_of_a_dead_worker(desk: Desk) -> None:
    desk.push("victim", "neighbour")
    desk.claim(2)
    desk.broken.add("victim")
    desk.client.hdel(desk.keys.task("victim"), "n")
    assert desk.broker.recover(POOL, "w1", {}) == 1
    assert desk.state("neighbour") == "pending"
    desk.make_due("victim")
    assert desk.tick() == {"broken": 1}


def walk(desk: Desk) -> None:
    """Whatever became of the victims, everything may be done about them."""
    for verb, value in (("postpone", NEVER_MS), ("retry", ""), ("cancel", ""), ("delete", ""), ("restore", "")):
        desk.control(verb, *VICTIMS, value=value)
    desk.make_due(*VICTIMS, *NEIGHBOURS)
    desk.tick()
    desk.push(*VICTIMS, conflict=Conflict.REPLACE)
    assert sorted(ids_of(desk.claim(20))) == VICTIMS


@pytest.mark.parametrize("state", ["pending", "postponed", "locked", "failed"])
@pytest.mark.parametrize("garbage", [b"", b"banana", b"\xff\xfe"])
def test_a_record_with_an_unknown_state_is_put_aside_or_forgotten(desk: Desk, state: str, garbage: bytes) -> None:
    bring_to(desk, "a", state)
    desk.push("b")
    desk.client.hset(desk.keys.task("a"), "s", garbage)
    desk.broken.add("a")
    desk.haunted.add("a")
    desk.make_due("a")
    desk.tick()
    assert desk.drain() == ["b"]
    assert aside(desk) == (set() if state == "failed" else {"a"})
    desk.check()
    assert desk.told("discard", "a") == ("GONE" if state == "failed" else "OK")
    assert not desk.client.exists(desk.keys.task("a"))


@pytest.mark.parametrize("destroyed", [None, {"s": "bogus"}, {"s": "pending", "n": None}])
def test_a_quarantined_task_that_cannot_be_read_is_said_to_be_there_and_only_discarded(
    desk: Desk, destroyed: dict[str, str | None] | None
) -> None:
    desk.push("a")
    key = desk.keys.task("a")
    if destroyed is None:
        destroy(desk, "a")
    for field, value in (destroyed or {}).items():
        desk.client.hdel(key, field) if value is None else desk.client.hset(key, field, value)
    assert desk.drain() == []
    (row,) = desk.control("requeue", "a")
    assert (row.word, row.state) == ("REFUSED", "quarantined")
    assert "can only be discarded" in row.detail
    (listed,) = inspect.tasks(inspect.TaskQuery()).rows
    assert (listed.id, listed.state) == ("a", "quarantined")
    shown = inspect.task("a")
    assert shown is not None
    assert shown.state == "quarantined"
    assert desk.told("discard", "a") == "OK"
    assert desk.told("requeue", "a") == "GONE"


@pytest.mark.parametrize("verb", ["postpone", "priority", "keep"])
def test_an_action_without_its_number_is_refused_and_changes_nothing(desk: Desk, verb: str) -> None:
    bring_to(desk, "a", "failed" if verb == "keep" else "pending")
    before = desk.everything()
    assert desk.told(verb, "a", value="soon") == "REFUSED"
    assert desk.everything() == before


def bring_to(desk: Desk, task_id: str, state: str) -> None:
    """Push a task and bring it to a state."""
    desk.push(task_id, retries=1, tags=("red",), delay_ms=NEVER_MS if state == "postponed" else None)
    if state in ("locked", "restart", "failed"):
        lease = desk.lease()
        if state != "locked":
            desk.settle(lease, Outcome.ERROR, delay_ms=-1 if state == "failed" else NEVER_MS)


def destroy(desk: Desk, task_id: str, garbage: bytes | None = None) -> None:
    """The record vanishes, or is overwritten."""
    desk.client.delete(desk.keys.task(task_id))
    if garbage:
        desk.client.set(desk.keys.task(task_id), garbage)
    desk.broken.add(task_id)
    desk.haunted.add(task_id)


def aside(desk: Desk) -> set[str]:
    """What lies in quarantine."""
    return {member.decode() for member in desk.client.zrange(desk.keys.state("quarantined"), 0, -1)}
