"""The consistency check finds what is not where its record says, puts it there, and leaves all else alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from queueops.model import kinds
from queueops.model.contracts import Outcome
from queueops.redis.broker import RedisBroker, fsck
from tests.kernel.desk import NEVER_MS, Desk, end

Damage = Callable[[Desk], object]
SHADOW = "{id}: its record is missing"


def checked(desk: Desk, *, repair: bool = False) -> set[str]:
    """All that a whole check says."""
    found, after, steps = set(), "", 0
    while after or not steps:
        page = desk.broker.check(desk.pool, after, repair=repair)
        found |= {f"{fault.id}: {fault.text}" for fault in page.faults}
        after = page.next
        steps += 1
        assert steps < 1000
    return found


@pytest.fixture
def full(desk: Desk) -> Desk:
    """A pool with tasks in many states; lanes with and without a limit."""
    desk.broker.lane("default", "narrow", limit=2)
    desk.push("s", "f", "l")
    done, failed, _locked = desk.claim(3)
    desk.settle(done)
    desk.settle(failed, Outcome.ERROR, b"{}", delay_ms=-1, fingerprint="f1", title="bad")
    desk.push("n", lane="narrow", tags=("red",))
    desk.lease()
    desk.push("m", "o", lane="narrow")
    desk.push("p", delay_ms=NEVER_MS)
    desk.push("a", "b", "c")
    return desk


def key(desk: Desk, name: str) -> str:
    return f"{desk.keys.prefix}:{name}"


def faults(desk: Desk, *, repair: bool = False) -> list[str]:
    """The same, with what is said more than once."""
    found, after, begun = [], "", False
    while after or not begun:
        page = desk.broker.check(desk.pool, after, repair=repair)
        found += [f"{fault.id}: {fault.text}" for fault in page.faults]
        after, begun = page.next, True
    return found


DAMAGES: dict[str, tuple[Damage, set[str]]] = {
    "out of its state": (
        lambda desk: desk.client.zrem(key(desk, "state:pending"), "a"),
        {"a: it is pending, and not in that index"},
    ),
    "in a second state": (
        lambda desk: desk.client.zadd(key(desk, "state:failed"), {"a": 5}),
        {"a: it is pending, and in the index of failed"},
    ),
    "out of its lane": (
        lambda desk: desk.client.zrem(key(desk, "lane:default"), "b"),
        {"b: it is ready, and not in its lane"},
    ),
    "in its lane though it ended": (
        lambda desk: desk.client.zadd(key(desk, "lane:default"), {"s": 5}),
        {"s: it is succeeded, and in its lane"},
    ),
    "in another lane": (
        lambda desk: desk.client.zadd(key(desk, "lane:narrow"), {"a": 5}),
        {"a: it is in the lane of others"},
    ),
    "a delay without an end": (
        lambda desk: desk.client.zrem(key(desk, "agenda"), "p"),
        {"p: it is postponed, and not on the agenda"},
    ),
    "a lease without an end": (
        lambda desk: desk.client.zrem(key(desk, "agenda"), "l"),
        {"l: it is locked, and not on the agenda"},
    ),
    "kept without an end": (
        lambda desk: desk.client.zrem(key(desk, "agenda"), "s", "f"),
        {"s: it is succeeded, and not on the agenda", "f: it is failed, and not on the agenda"},
    ),
    "on the agenda for nothing": (
        lambda desk: desk.client.zadd(key(desk, "agenda"), {"c": desk.now() + NEVER_MS}),
        {"c: it is pending, and on the agenda"},
    ),
    "a name that does not list it": (
        lambda desk: desk.client.zrem(key(desk, "name:tests.noop"), "n"),
        {"n: it is not in the index of its name"},
    ),
    "no slot though it runs": (
        lambda desk: desk.client.srem(key(desk, "lane:narrow#active"), "n"),
        {"n: it runs without a slot of its lane"},
    ),
    "a slot though it waits": (
        lambda desk: desk.client.sadd(key(desk, "lane:narrow#active"), "m"),
        {"m: it holds a slot, and does not run", "~lane:narrow: it is claimed from, and may not be"},
    ),
    "a slot of nobody": (
        lambda desk: desk.client.sadd(key(desk, "lane:narrow#active"), "ghost"),
        {"ghost: an index names it, and there is no such task", "~lane:narrow: it is claimed from, and may not be"},
    ),
    "a lane that nobody claims from": (
        lambda desk: desk.client.zrem(key(desk, "lanes:ready"), "default"),
        {"~lane:default: tasks wait in it, and no worker claims from it"},
    ),
    "a ghost in a lane": (
        lambda desk: desk.client.zadd(key(desk, "lane:default"), {"ghost": 5}),
        {"ghost: an index names it, and there is no such task"},
    ),
    "a ghost on the agenda": (
        lambda desk: desk.client.zadd(key(desk, "agenda"), {"ghost": desk.now() + NEVER_MS}),
        {"ghost: an index names it, and there is no such task"},
    ),
    "in no index at all": (
        lambda desk: [desk.client.zrem(key(desk, each), "c") for each in ("state:pending", "lane:default")],
        {"c: it is pending, and not in that index", "c: it is ready, and not in its lane"},
    ),
}


def test_a_pool_that_is_well_has_no_faults(full: Desk) -> None:
    before = full.everything()
    assert checked(full) == set()
    assert checked(full, repair=True) == set()
    assert full.everything() == before


def test_what_is_walked_is_read_once_however_many_lanes_there_are(full: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    full.push(*(f"l{number}" for number in range(3)), lane="first")
    asked, places = [], full.broker._places
    monkeypatch.setattr(full.broker, "_places", lambda pool: asked.append(pool) or places(pool))
    for repair in (False, True, False):
        assert checked(full, repair=repair) == set()
    assert asked == [full.pool] * 3
    full.push("new", lane="second")
    full.client.zrem(key(full, "lane:second"), "new")
    assert "~lane:second: it is claimed from, and may not be" in checked(full)
    assert "new: it is ready, and not in its lane" in checked(full, repair=True)


def test_a_walk_that_another_process_began_goes_on(full: Desk) -> None:
    first = full.broker.check(full.pool)
    full.broker._walked.clear()
    assert full.broker.check(full.pool, first.next).next != first.next


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_found_and_put_right_and_nothing_else(full: Desk, damage: str) -> None:
    spoil, expected = DAMAGES[damage]
    spoil(full)
    before = full.everything()
    assert checked(full) == expected
    assert full.everything() == before
    checked(full, repair=True)
    assert checked(full) == set()
    full.check()
    after = full.everything()
    assert checked(full, repair=True) == set()
    assert full.everything() == after
    assert full.state("a") == "pending"


@pytest.mark.parametrize("garbage", [False, True], ids=["missing", "garbage"])
def test_a_task_whose_record_is_lost_is_put_aside(full: Desk, garbage: bool) -> None:
    full.client.delete(full.keys.task("a"))
    if garbage:
        full.client.set(full.keys.task("a"), "x")
    full.broken.add("a")
    text = "its record cannot be read" if garbage else "its record is missing"
    assert checked(full) == {f"a: {text}"}
    checked(full, repair=True)
    assert full.client.zscore(full.keys.state("quarantined"), "a")
    assert full.client.zscore(full.keys.lane("default"), "a") is None
    assert checked(full) == set()
    assert full.drain("w2")[:1] == ["m"] or full.state("b") == "succeeded"
    full.client.flushall()


def test_display_counters_that_were_lost_or_spoiled_are_put_right(full: Desk) -> None:
    counts = key(full, "counts")
    before = full.client.hgetall(counts)
    full.client.delete(counts)
    assert checked(full) == set()
    assert "~name:tests.noop: pending was counted as 0 instead of 5" in checked(full, repair=True)
    assert full.client.hgetall(counts) == before
    spoiled = {"n|tests.noop|restart": 7, "s|narrow|locked": "x", "n|tests.noop|failed": -2}
    unused = {"l|narrow|active": 5, "n|tests.noop|locked": 9}  # an earlier version has left them
    full.client.hset(counts, mapping=spoiled | unused)
    assert checked(full, repair=True) == {
        "~name:tests.noop: restart was counted as 7 instead of 0",
        "~name:tests.noop: failed was counted as -2 instead of 1",
        "~lane:narrow: locked was counted as x instead of 1",
    }
    assert full.client.hgetall(counts) == before
    full.check()


def test_a_task_out_of_the_index_of_its_kind_is_put_back(full: Desk) -> None:
    full.push("k", kind="django_task")
    before = full.everything()
    full.client.zrem(key(full, "kind:django_task"), "k")
    assert checked(full) == {"k: it is not in the index of its kind"}
    checked(full, repair=True)
    assert full.everything() == before


def test_counters_of_kinds_and_lanes_that_were_spoiled_are_put_right(full: Desk) -> None:
    full.push("k", kind="django_task")
    counts = key(full, "counts")
    before = full.client.hgetall(counts)
    full.client.hset(
        counts, mapping={"k|django_task|pending": 9, "s|narrow|pending": 7, "s|narrow|failed": 3, "s||pending": -1}
    )
    assert checked(full, repair=True) == {
        "~kind:django_task: pending was counted as 9 instead of 1",
        "~lane:narrow: pending was counted as 7 instead of 2",
        "~lane:narrow: failed was counted as 3 instead of 0",
        "~lane:: pending in all lanes but the default one was counted as -1 instead of 2",
    }
    assert full.client.hgetall(counts) == before


def test_a_name_with_very_many_tasks_in_two_states_is_not_walked(full: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fsck, "MOST_COUNTED", 1)
    counts = key(full, "counts")
    before = full.client.hgetall(counts)
    full.client.hset(counts, "n|tests.noop|restart", 7)
    checked(full, repair=True)
    assert full.client.hget(counts, "n|tests.noop|restart") == b"7"
    monkeypatch.setattr(fsck, "MOST_COUNTED", 2)
    checked(full, repair=True)
    assert full.client.hgetall(counts) == before


@pytest.fixture
def working(full: Desk) -> Iterator[Desk]:
    """The same, while a worker works and a producer pushes."""
    ended = threading.Event()
    errors: list[BaseException] = []

    def work() -> None:
        desk = Desk(RedisBroker(full.broker.settings))
        number = 0
        try:
            while not ended.is_set():
                desk.push(*(f"w{number + i}" for i in range(5)), lane="busy", priority=number % 3)
                number += 5
                for lease in desk.claim(8, "busy"):
                    if lease.lane == "busy":
                        outcome = (Outcome.SUCCESS, Outcome.ERROR, Outcome.RELEASE)[lease.fence % 3]
                        desk.exchange("busy", settle=[end(lease, outcome, b"{}", delay_ms=-1, fingerprint="f2")])
        except BaseException as error:
            errors.append(error)
        finally:
            desk.broker.close()

    full.broker.lane("default", "default", paused=1)
    full.broker.lane("default", "narrow", paused=1)
    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield full
    finally:
        ended.set()
        worker.join()
    assert errors == []


def test_what_moves_meanwhile_is_never_taken_for_damage(working: Desk) -> None:
    for _ in range(3):
        assert checked(working, repair=True) == set()
    spoiled = [name for name in DAMAGES if "claim" not in name and "slot" not in name and name != "in no index at all"]
    expected = set().union(*(DAMAGES[name][1] for name in spoiled))
    for name in spoiled:
        DAMAGES[name][0](working)
    assert checked(working) == expected
    checked(working, repair=True)
    assert checked(working) == set()


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_fault_is_counted_once_however_many_indexes_name_the_task(full: Desk, damage: str) -> None:
    spoil, expected = DAMAGES[damage]
    spoil(full)
    assert sorted(faults(full)) == sorted(expected)
    full.client.flushall()


UNREADABLE = [b"abc", b"", b"\xff\x00", b"1.5", b"0x10", b"nan", b"9" * 30, b"1e3"]


@pytest.mark.parametrize("garbage", UNREADABLE)
@pytest.mark.parametrize("field", ["p", "at", "r", "cr", "kp", "t", "c", "u", "d"])
def test_a_number_that_cannot_be_read_hides_no_task_and_is_named_and_removed(
    full: Desk, field: str, garbage: bytes
) -> None:
    full.client.hset(full.keys.task("a"), field, garbage)
    record = full.record("a")
    assert record is not None
    assert record.state == "pending"
    (fault,) = faults(full)
    shown = garbage[:40].decode("ascii", "replace").replace("\x00", "?").replace("\ufffd", "?")
    assert fault == f'a: its {kinds.fields()[field].name} is "{shown}", not a number'
    assert full.client.hget(full.keys.task("a"), field) == garbage
    assert faults(full, repair=True) == [fault]
    assert faults(full) == []
    assert full.client.hget(full.keys.task("a"), field) is None or field == "u"
    assert "a" in full.drain()


def test_a_fence_that_cannot_be_read_ends_the_lease(full: Desk) -> None:
    full.client.hset(full.keys.task("l"), "f", "abc")
    assert faults(full, repair=True) == ['l: its fence is "abc", not a number']
    full.expire("l")
    assert full.state("l") == "pending"


@pytest.mark.parametrize("field", ["limit", "rate", "weight"])
def test_a_number_of_a_lane_that_cannot_be_read_is_named_and_removed(full: Desk, field: str) -> None:
    full.client.hset(full.keys.lane_conf("narrow"), field, "abc")
    if field == "limit":
        full.client.delete(full.keys.lane_active("narrow"))
    assert f'~lane:narrow: its {field} is "abc", not a number' in faults(full)
    faults(full, repair=True)
    assert faults(full) == []
    assert not full.client.hexists(full.keys.lane_conf("narrow"), field)


def test_a_command_that_no_index_names_is_brought(full: Desk) -> None:
    keys, client = full.keys, full.client
    client.hset(keys.command("1"), mapping={"v": "ask", "to": "default", "i": "x", "me": "y", "vn": 1, "t": full.now()})
    assert faults(full) == ["~command:1: it is in no index of the outbox"]
    faults(full, repair=True)
    assert [command.id for command in full.broker.post(full.pool, take=5).taken] == ["1"]
    client.flushall()


@pytest.mark.parametrize("garbage", ["a hash", "a string"])
def test_what_is_not_a_command_is_put_among_the_dead(full: Desk, garbage: str) -> None:
    key = full.keys.command("1")
    full.client.set(key, "x") if garbage == "a string" else full.client.hset(key, "x", "y")
    assert faults(full) == ["~command:1: it is not a command"]
    faults(full, repair=True)
    assert faults(full) == []
    assert full.broker.redeliver(full.pool, "requeue", ["1"])[0][0].word == "REFUSED"
    assert full.broker.redeliver(full.pool, "drop", ["1"])[0][0].word == "OK"
    assert not full.client.exists(key)


@pytest.mark.parametrize("name", ["counts", "tags", "name:tests.noop", "state:failed", "lane:narrow#active", "trashed"])
def test_a_key_of_another_type_is_named_and_does_not_end_the_check(full: Desk, name: str) -> None:
    full.client.zadd(key(full, "state:succeeded"), {"a": 5})
    full.client.delete(key(full, name))
    full.client.rpush(key(full, name), "x")
    found = checked(full, repair=True)
    assert "a: it is pending, and in the index of succeeded" in found
    kind = {"counts": "hash", "lane:narrow#active": "set"}.get(name, "zset")
    assert f"~key:{name}: {key(full, name)} is a list, not a {kind}. Delete it, or restore it." in found
    full.client.flushall()
