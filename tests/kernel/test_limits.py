"""Limits of keys: at most so many tasks of a key run, keys do not delay each other, and nothing is left of them."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

from queueops.model.contracts import Conflict, Lease, Outcome
from queueops.model.states import table
from tests.kernel.desk import NEVER_MS, Desk, end, ids_of, make
from tests.support.waiting import wait_until


def keyed(key: str, limit: int = 1, **fields: Any) -> dict[str, Any]:
    """The fields of a push whose key has this limit."""
    return {"own": (("lk", key), ("lm", limit)), **fields}


def test_a_key_that_is_full_keeps_the_others_waiting_and_passes_its_turn_on(desk: Desk) -> None:
    desk.push("a1", "a2", "a3", **keyed("a"))
    desk.push("b1", **keyed("b"))
    desk.push("z")
    first = desk.claim(9)
    assert ids_of(first) == ["a1", "b1", "z"]
    desk.check()
    assert desk.claim(9) == []
    assert desk.settle(first[0]) == "OK"
    assert ids_of(desk.claim(9)) == ["a2"]
    desk.check()


def test_keys_take_turns_whatever_waits_for_one_of_them(desk: Desk) -> None:
    desk.broker.push([make(f"a{n:04}", **keyed("a", 3)) for n in range(1000)])
    desk.broker.push([make(f"b{n}", **keyed("b", 3)) for n in range(3)])
    assert desk.client.zcard(desk.keys.lane("default")) == 6
    order = desk.drain(limit=9)
    assert order == ["a0000", "a0001", "a0002", "b0", "b1", "b2", "a0003", "a0004", "a0005"]
    desk.check()


def test_nothing_is_left_of_keys_whose_tasks_have_ended(desk: Desk) -> None:
    for number in range(30):
        desk.push(f"a{number}", f"b{number}", **keyed(f"k{number}"))
    desk.drain()
    assert not [*desk.client.scan_iter(f"{desk.keys.prefix}:limit*", count=10_000)]
    desk.check()


LANES = ("", "other", "default", "d*,other")
"""Patterns of a worker's lanes."""


def walk(desk: Desk, dice: random.Random, held: list[Lease]) -> None:
    """One call of the kernel, of any sort."""
    ids = [f"t{number}" for number in range(14)]
    task_id, key = dice.choice(ids), dice.choice(["a", "b"])
    sort = dice.randrange(9)
    if sort < 2:
        fields = keyed(key, dice.choice([1, 2, 2]), priority=dice.choice([0, 9]), retries=1)
        fields["own"] += dice.choice([(), (), (("lr", "0.001"),)])
        fields |= {"delay_ms": dice.choice([None, None, NEVER_MS]), "lane": dice.choice(["default", "other"])}
        conflict = dice.choice([Conflict.REPLACE, Conflict.RUN_AFTER, Conflict.IGNORE])
        desk.push(*dice.sample(ids, dice.choice([1, 3])), conflict=conflict, **fields)
    elif sort < 5:
        held += desk.claim(dice.choice([1, 3]), dice.choice(["w1", "w2"]))
    elif sort < 7 and held:
        lease = held.pop(dice.randrange(len(held)))
        delay_ms = dice.choice([0, NEVER_MS, -1])
        desk.settle(lease, dice.choice([Outcome.SUCCESS, *Outcome]), b"{}", delay_ms=delay_ms, worker=lease.worker)
    elif sort == 7:
        verb = dice.choice(sorted({verb for verbs in table().actions.values() for verb in verbs} | {"restore"}))
        value = {"postpone": "+100000", "priority": "5", "move": "other", "keep": "100000"}.get(verb, "")
        desk.control(verb, task_id, value=value)
    else:
        dice.choice(
            [
                lambda: desk.expire(task_id),
                lambda: (desk.make_due(task_id), desk.tick()),
                lambda: desk.broker.pause_name(desk.pool, "tests.noop", paused=dice.random() < 0.3),
                lambda: desk.broker.lane(desk.pool, "other", paused=dice.choice(["1", None, None])),
                lambda: desk.broker.recover(desk.pool, "w1", {}),
                lambda: (
                    desk.broker.beat(desk.pool, "w3", {"state": "live", "lanes": dice.choice(LANES)}),
                    desk.tick(),
                ),
            ]
        )()


def test_a_rate_lets_the_next_one_in_when_its_token_is_there(desk: Desk) -> None:
    desk.push("a1", "a2", "a3", own=(("lk", "a"), ("lr", "0.001")))
    desk.push("b1", own=(("lk", "b"), ("lr", "0.001")))
    assert ids_of(desk.claim(9)) == ["a1", "b1"]
    assert desk.claim(9) == []
    desk.check()
    tat, entry = f"{desk.keys.prefix}:limit:tests.noop a#tat", "~limit:tests.noop a"
    assert desk.client.pttl(tat) > 900_000
    assert desk.client.zscore(desk.keys.agenda, entry) > desk.now() + 900_000
    desk.client.delete(tat)
    desk.make_due(entry)
    assert ids_of(desk.claim(9)) == ["a2"]
    assert desk.client.zscore(desk.keys.agenda, entry) > desk.now() + 900_000
    desk.check()


def test_no_more_than_a_second_of_starts_of_a_rate_stand_in_the_lane(desk: Desk) -> None:
    desk.broker.push([make(f"t{number}", own=(("lk", "a"), ("lr", "3.7"))) for number in range(9)])
    assert desk.client.zcard(desk.keys.lane("default")) == 3
    assert len(desk.claim(9)) == 3
    wait_until(lambda: desk.claim(9))
    desk.check()


def test_a_rate_holds_beside_tasks_of_its_key_that_have_none(desk: Desk) -> None:
    desk.push("a1", **keyed("a", 2))
    desk.push("a2", "a3", own=(("lk", "a"), ("lr", "0.001")))
    assert ids_of(desk.claim(1)) == ["a1"]
    desk.check()
    assert ids_of(desk.claim(1)) == ["a2"]
    desk.check()


def test_whatever_happens_a_key_has_as_many_turns_as_it_may(desk: Desk) -> None:
    dice = random.Random(30)
    held: list[Lease] = []
    for _ in range(500):
        walk(desk, dice, held)
        desk.check()


def test_the_check_finds_turns_that_are_lost_or_left(desk: Desk) -> None:
    desk.push("a1", "a2", "a3", "a4", **keyed("a", 2))
    lease = desk.lease()
    turn, active, waiting = (f"{desk.keys.prefix}:limit:tests.noop a#{part}" for part in ("turn", "active", "waiting"))
    assert faults_of(desk, repair=False) == {}
    desk.client.sadd(turn, "lost")
    desk.client.sadd(active, "lost", "a3")
    desk.client.srem(active, lease.id)
    desk.client.zrem(waiting, "a4")
    found = faults_of(desk, repair=False)
    assert found.keys() == {"a1", "a3", "a4", "~limit:tests.noop a"}
    assert faults_of(desk).keys() == found.keys()
    desk.check()
    desk.client.delete(turn, active)
    desk.client.delete(desk.keys.task("a1"))
    desk.broken = {"a1"}
    assert faults_of(desk)
    assert faults_of(desk) == {}
    desk.check()


def faults_of(desk: Desk, *, repair: bool = True) -> dict[str, str]:
    """What the consistency check finds, by id."""
    found, after = {}, ""
    while True:
        page = desk.broker.check(desk.pool, after, repair=repair)
        found |= {fault.id: fault.text for fault in page.faults}
        if not (after := page.next):
            return found


def test_a_turn_in_a_lane_that_no_live_worker_serves_goes_to_another_lane(desk: Desk) -> None:
    """A worker for the lane was killed, and no other one was started."""
    desk.push("a1", "a2", lane="a", **keyed("k"))
    desk.push("b1", "b2", "b3", lane="b", **keyed("k"))
    desk.push("a3", "b4", lane="a", **keyed("other"))
    desk.broker.beat("default", "w2", {"state": "live", "lanes": "b,c*"})
    only_b = partial(desk.exchange, "w2", want=5, lanes=("b", "c*"))
    assert only_b().leases == []
    desk.broker.beat("default", "w1", {"state": "live", "lanes": "a"})
    desk.tick()
    assert only_b().leases == []  # w1 will take it
    desk.client.zadd(f"{desk.keys.prefix}:workers", {"w1": desk.now() - 21_000})
    desk.tick()
    desk.check()
    order: list[str] = []
    while leases := only_b().leases:
        order += ids_of(leases)
        desk.exchange("w2", settle=[end(lease) for lease in leases])
        desk.check()
    assert order == ["b1", "b2", "b3"]
    desk.broker.beat("default", "w3", {"state": "live", "lanes": ""})  # a worker of all lanes
    desk.tick()
    assert not desk.client.hexists(f"{desk.keys.prefix}:clock", "unserved")
    assert sorted(desk.drain("w3")) == ["a1", "a2", "a3", "b4"]
    desk.check()


def test_a_turn_behind_very_many_tasks_that_no_live_worker_serves_is_found(desk: Desk) -> None:
    """A tick looks at a part of them, so that it stays short."""
    for lane in ("a1", "a2", "a3"):
        desk.broker.push([make(f"{lane}.{n}", lane=lane) for n in range(150)])
    desk.push("a", lane="a3", **keyed("k"))
    desk.push("b", lane="b", **keyed("k"))
    desk.broker.beat("default", "w2", {"state": "live", "lanes": "b,c*"})
    desk.broker.beat("default", "w3", {"state": "live", "lanes": "(*,[c*,%"})  # rubbish that is no pattern of Lua
    desk.client.hset(f"{desk.keys.prefix}:clock", "unserved_at", "9" * 30 + " 1")
    desk.tick()
    desk.tick()
    assert desk.exchange("w2", want=5, lanes=("b", "c*")).leases == []
    desk.tick()
    desk.check()
    assert ids_of(desk.exchange("w2", want=5, lanes=("b", "c*")).leases) == ["b"]
    assert not desk.client.hexists(f"{desk.keys.prefix}:clock", "unserved_at")
