"""Limits of chunks: at most so many of a key run, tasks take turns, and nothing is left of keys."""

from __future__ import annotations

from typing import Any

import pytest

from queueops.model.contracts import Conflict, Outcome, Settlement
from tests.kernel.desk import ids_of
from tests.kernel.test_limits import faults_of
from tests.mapreduce.bench import ChunkDesk
from tests.support.waiting import wait_until


def keyed(limit: int | None = 1, key: str = "a", rate: str = "") -> dict[str, Any]:
    """The fields of a task whose chunks have this limit."""
    return {"ck": key} | ({} if limit is None else {"cl": limit}) | ({"cq": rate} if rate else {})


def part(desk: ChunkDesk, name: str, key: str = "a") -> set[str]:
    """What is stored of a key."""
    stored = f"{desk.keys.prefix}:limit:tests.count {key}#{name}"
    found = desk.client.zrange(stored, 0, -1) if name == "waiting" else desk.client.smembers(stored)
    return {member.decode() for member in found}


def keys_of_limits(desk: ChunkDesk) -> list[bytes]:
    """All that is stored of keys."""
    return [*desk.client.scan_iter(f"{desk.keys.prefix}:limit*", count=10_000)]


def gather(desk: ChunkDesk, chunks: int, **tasks: dict[str, Any]) -> None:
    """Tasks that have mapped so many chunks, of which none has begun."""
    for task_id, own in tasks.items():
        desk.push_mapreduce(task_id, **own)
    leases = desk.claim(len(tasks))
    for lease in leases:
        desk.write(lease, chunks)
    desk.exchange("w1", settle=[Settlement(each.id, each.fence, Outcome.SUCCESS, b"%d" % chunks) for each in leases])


def test_no_more_chunks_run_than_the_limit_of_all_tasks_of_a_name(desk: ChunkDesk) -> None:
    desk.push_several("m", "n", chunks=4, **keyed(3))
    first = desk.claim(20)
    assert len(first) == 3
    desk.check()
    assert desk.claim(20) == []
    assert part(desk, "active") == set(ids_of(first))
    desk.end_all(first[:1])
    assert len(desk.claim(20)) == 1
    desk.check()


def test_tasks_of_a_key_take_turns_and_other_keys_are_not_delayed(desk: ChunkDesk) -> None:
    gather(desk, 3, m=keyed(1), n=keyed(1), p=keyed(1) | {"priority": 9}, z=keyed(1, "b"))
    order: list[str] = []
    while leases := desk.claim(20):
        desk.check()
        order += ids_of(leases)
        desk.end_all(lease for lease in leases if "#" in lease.id)
    of_key = [each for each in order if each[0] in "mnp" and "#" in each]
    assert of_key.index("p#2") <= 3  # another task had the first turn at most
    of_key = [each for each in of_key if each[0] != "p"]
    first, second = of_key[0][0], of_key[1][0]
    assert {first, second} == {"m", "n"}
    assert of_key == [f"{task_id}#{number}" for number in range(3) for task_id in (first, second)]
    assert order.index("z#1") < 4


def test_nothing_is_left_of_a_key_when_its_tasks_have_ended(desk: ChunkDesk) -> None:
    gather(desk, 2, **{f"m{number}": keyed(1, f"k{number}") for number in range(4)})
    for number in range(4):
        desk.process(f"m{number}")
    assert keys_of_limits(desk) == []
    desk.check()


def test_a_rate_lets_the_next_chunk_begin_when_its_token_is_there(desk: ChunkDesk) -> None:
    desk.push_several("m", "n", chunks=2, **keyed(None, rate="0.001"))
    (lease,) = desk.claim(20)
    desk.end_all([lease])
    assert desk.claim(20) == []
    entry = "~limit:tests.count a"
    assert desk.client.zscore(desk.keys.agenda, entry) > desk.now() + 900_000
    desk.check()
    desk.client.delete(f"{desk.keys.prefix}:limit:tests.count a#tat")
    desk.make_due(entry)
    assert [lease.id[0] for lease in desk.claim(20)] == [("mn".replace(lease.id[0], ""))]
    desk.check()


def test_a_rate_above_one_a_second_lets_a_second_of_starts_begin_at_once(desk: ChunkDesk) -> None:
    desk.push_mapped("m", 9, **keyed(None, rate="3.7"))
    assert len(desk.claim(20)) == 3
    wait_until(lambda: desk.claim(20))
    desk.check()


def test_a_slot_comes_back_when_the_worker_of_a_chunk_is_gone(desk: ChunkDesk) -> None:
    desk.push_several("m", "n", chunks=2, **keyed(1))
    (lease,) = desk.claim(20, "w1")
    desk.expire(lease.id)
    desk.tick()
    assert part(desk, "active") == set()
    (other,) = desk.claim(20, "w2")
    assert other.id[0] != lease.id[0]
    desk.broker.recover(desk.pool, "w2", {})
    assert part(desk, "active") == set()
    desk.check()


def test_a_task_that_is_cancelled_gives_its_turn_to_the_next(desk: ChunkDesk) -> None:
    desk.push_several("m", "n", chunks=2, **keyed(1))
    assert part(desk, "turn") == {"#m"}
    desk.control("cancel", "m", value="enough")
    desk.check()
    assert ids_of(desk.claim(20)) == ["n#0"]
    desk.control("retry", "m")
    desk.check()
    assert part(desk, "waiting") == {"#m", "#n"}


def test_a_task_that_waits_keeps_its_place_when_a_chunk_of_it_is_dropped(desk: ChunkDesk) -> None:
    desk.push_several("m", "n", "o", chunks=2, **keyed(1))
    waiting = f"{desk.keys.prefix}:limit:tests.count a#waiting"
    assert desk.client.zrange(waiting, 0, -1) == [b"#n", b"#o"]
    assert desk.mend("drop", 1, task_id="n") == 1
    assert desk.client.zrange(waiting, 0, -1) == [b"#n", b"#o"]


def test_a_task_that_is_replaced_or_deleted_leaves_nothing_of_its_key(desk: ChunkDesk) -> None:
    desk.push_several("m", "n", chunks=2, **keyed(2))
    first = desk.claim(20)
    assert len(first) == 2
    desk.push_mapreduce("m", conflict=Conflict.REPLACE, **keyed(2, "b"))
    desk.control("cancel", "n")
    desk.control("delete", "n")
    assert [key for key in keys_of_limits(desk) if b" a#" in key] == []
    desk.check()
    desk.control("restore", "n")
    desk.check()


def test_a_task_in_a_paused_lane_keeps_no_turn_that_another_one_can_use(desk: ChunkDesk) -> None:
    gather(desk, 3, m=keyed(2) | {"lane": "slow"}, n=keyed(2))
    desk.broker.lane(desk.pool, "slow", paused="1")
    first = [*desk.claim(20), *desk.claim(20)]
    assert ids_of(first) == ["n#0", "n#1"]
    desk.check()
    desk.broker.lane(desk.pool, "slow", paused="")
    assert desk.claim(20) == []
    desk.end_all(first[:1])
    assert [lease.id[0] for lease in desk.claim(20)] == ["m"]
    desk.check()
    desk.end_all(first[1:])
    desk.control("cancel", "m", value="enough")
    assert ids_of(desk.claim(20)) == ["n#2"]
    desk.check()


def test_a_turn_that_a_worker_cannot_use_goes_to_a_task_whose_chunks_it_may_run(desk: ChunkDesk) -> None:
    gather(desk, 9, **{task_id: keyed(2) | {"per_worker": 1} for task_id in "abc"})
    first, *leases = desk.claim(20)
    for _ in range(5):
        desk.end_all(leases)
        leases = desk.claim(20)
        assert [lease.id[0] == first.id[0] for lease in leases] == [False], "the first one runs a chunk here"
        desk.check()
    for other in {"a", "b", "c"} - {first.id[0]}:
        desk.control("cancel", other, value="enough")
    desk.end_all(leases)
    assert desk.claim(20) == []
    assert part(desk, "turn") == {f"#{first.id[0]}"}
    assert [lease.id[0] for lease in desk.claim(20, "w2")] == [first.id[0]]
    desk.check()


def test_a_worker_passes_no_turn_to_a_lane_that_it_does_not_serve(desk: ChunkDesk) -> None:
    own = keyed(2) | {"per_worker": 1}
    desk.push_mapped("m", 3, **own)
    assert ids_of(desk.claim(9)) == ["m#0"]
    for task_id in "np":  # n comes first
        desk.push_mapreduce(task_id, lane=task_id, **own)
        (lease,) = desk.exchange("w1", want=1, lanes=(task_id,)).leases
        desk.write(lease, 3)
        desk.settle(lease, Outcome.SUCCESS, b"3")
    found = [desk.exchange("w1", want=9, lanes=("default", "p")).leases for _ in range(2)]
    assert [lease.id for leases in found for lease in leases] == ["p#0"]
    desk.check()


def test_chunks_in_a_lane_that_no_live_worker_serves_do_not_delay_others_of_their_key(desk: ChunkDesk) -> None:
    for task_id in "mn":
        desk.push_mapreduce(task_id, lane=task_id, **keyed(1))
        (lease,) = desk.exchange("w1", want=1, lanes=(task_id,)).leases
        desk.write(lease, 3)
        desk.settle(lease, Outcome.SUCCESS, b"3")
    assert part(desk, "turn") == {"#m"}
    desk.broker.beat("default", "w2", {"state": "live", "lanes": "n"})
    assert desk.exchange("w2", want=9, lanes=("n",)).leases == []
    desk.tick()
    desk.check()
    order: list[str] = []
    while leases := desk.exchange("w2", want=9, lanes=("n",)).leases:
        order += ids_of(leases)
        desk.end_all(lease for lease in leases if "#" in lease.id)
        desk.check()
    assert order == ["n#0", "n#1", "n#2", "n"]
    desk.tick()
    assert ids_of(desk.claim(9)) == ["m#0"]
    desk.check()


def test_chunks_that_an_operator_changes_come_back_to_their_key(desk: ChunkDesk) -> None:
    gather(desk, 4, m=keyed(2), n=keyed(2))
    leases = desk.claim(20)
    for lease in leases:
        desk.fail(lease, delay_ms=10**6)
    desk.check()
    assert desk.broker.mend_all(desk.pool, "m", "retry", "errored").changed == 1
    assert desk.mend("drop", 3, task_id="n") == 1
    desk.check()
    assert len(desk.claim(20)) == 2
    desk.check()


def test_a_restart_from_the_map_gives_the_turns_back(desk: ChunkDesk) -> None:
    desk.push_several("m", "n", chunks=3, **keyed(2))
    desk.claim(20)
    assert desk.restart("map") == "OK"
    desk.check()
    desk.map("m", 2)
    desk.check()
    places = part(desk, "turn") | part(desk, "waiting") | part(desk, "active")
    assert {member.strip("#")[0] for member in places} == {"m", "n"}


def test_another_limit_holds_for_the_tasks_that_have_it(desk: ChunkDesk) -> None:
    gather(desk, 4, m=keyed(1), n=keyed(3))
    first = desk.claim(20)
    desk.check()
    assert 1 <= len(first) <= 3
    assert sum(lease.id[0] == "m" for lease in first) <= 1


def test_a_task_with_a_higher_limit_does_not_pass_one_that_waits(desk: ChunkDesk) -> None:
    gather(desk, 4, m=keyed(1), n=keyed(3))
    desk.control("cancel", "m", value="enough")
    desk.control("retry", "m")
    (first,) = desk.claim(1)
    assert first.id == "n#0"
    assert desk.claim(20) == []
    desk.check()
    desk.end_all([first])
    assert ids_of(desk.claim(1)) == ["m#0"]
    desk.check()


def test_a_task_that_is_replaced_gives_its_turn_back(desk: ChunkDesk) -> None:
    gather(desk, 2, m=keyed(1), n=keyed(1))
    (holder,) = (member.strip("#") for member in part(desk, "turn"))
    desk.push_mapreduce(holder, conflict=Conflict.REPLACE, **keyed(1, "b"))
    desk.check()
    assert part(desk, "turn") == {"#n" if holder == "m" else "#m"}
    desk.push_mapreduce("n", conflict=Conflict.REPLACE)
    desk.push_mapreduce("m", conflict=Conflict.REPLACE)
    desk.tick()
    assert keys_of_limits(desk) == []


@pytest.mark.parametrize("limit", [1, 2])
def test_a_task_that_is_replaced_gives_the_place_or_the_turn_of_a_second_run_back(desk: ChunkDesk, limit: int) -> None:
    desk.push_mapped("m", 1, **keyed(limit))
    desk.claim(20)
    assert desk.mend("speculate", 0) == 1
    desk.push_mapreduce("m", conflict=Conflict.REPLACE)
    desk.tick()
    assert keys_of_limits(desk) == []


@pytest.mark.parametrize("runs", [True, False])
@pytest.mark.parametrize("own", [keyed(1), keyed(2), {}])
def test_a_second_run_ends_when_its_task_goes_to_the_trash(desk: ChunkDesk, own: dict[str, Any], runs: bool) -> None:
    desk.push_mapped("m", 1, **own)
    desk.claim(1, "w1")
    assert desk.mend("speculate", 0) == 1
    if runs:
        desk.claim(20, "w2")
    desk.control("cancel", "m", value="enough")
    desk.control("delete", "m")
    assert desk.claim(20, "w3") == []
    assert keys_of_limits(desk) == []
    desk.check()
    desk.control("restore", "m")
    desk.check()
    assert part(desk, "active") == ({"m#0"} if own else set())


def test_a_second_run_counts_for_the_limit(desk: ChunkDesk) -> None:
    desk.push_mapped("m", 1, **keyed(1))
    (lease,) = desk.claim(20, "w1")
    assert desk.mend("speculate", 0) == 1
    assert desk.claim(20, "w2") == []
    assert part(desk, "waiting") == {"m#0~"}
    desk.settle(lease, Outcome.SUCCESS, b"1")
    desk.check()
    assert keys_of_limits(desk) == []


def test_a_second_run_begins_when_the_limit_allows_it(desk: ChunkDesk) -> None:
    desk.push_mapped("m", 1, **keyed(2))
    desk.claim(20, "w1")
    assert desk.mend("speculate", 0) == 1
    (second,) = desk.claim(20, "w2")
    assert part(desk, "active") == {"m#0", "m#0~"}
    assert desk.settle(second, Outcome.SUCCESS, b"1", "w2") == "OK"
    desk.check()
    assert keys_of_limits(desk) == []


def calls_of(desk: ChunkDesk, *commands: str) -> int:
    """How often the server has run these commands."""
    known = desk.client.info("commandstats")
    return sum(known.get(f"cmdstat_{command}", {}).get("calls", 0) for command in commands)


def test_many_running_chunks_of_a_key_end_and_are_checked_in_a_bounded_number_of_commands(desk: ChunkDesk) -> None:
    desk.push_mapped("m", 1200, **keyed(2000))
    desk.claim(600)
    desk.claim(600)
    assert len(part(desk, "active")) == 1200
    before = calls_of(desk, "hmget")
    assert desk.broker._checked(desk.pool, False, "", ["~limit:tests.count a"]) == []
    assert 500 <= calls_of(desk, "hmget") - before < 1200
    desk.control("cancel", "m", value="enough")
    before = calls_of(desk, "srem")
    desk.control("delete", "m")
    assert part(desk, "active") == set()
    assert calls_of(desk, "srem") - before < 10
    desk.control("restore", "m")
    assert len(part(desk, "active")) == 1200


def test_the_own_limit_of_a_task_holds_beside_that_of_its_key(desk: ChunkDesk) -> None:
    desk.push_several("m", "n", chunks=4, max_parallel=1, **keyed(3))
    assert sorted(lease.id for lease in desk.claim(20)) == ["m#0", "n#0"]
    desk.check()
    assert part(desk, "turn") == part(desk, "waiting") == set()


def test_the_check_finds_turns_of_chunks_that_are_lost_or_left(desk: ChunkDesk) -> None:
    desk.push_several("m", "n", chunks=3, **keyed(2))
    lease = desk.claim(1)[0]
    assert faults_of(desk, repair=False) == {}
    prefix = f"{desk.keys.prefix}:limit:tests.count a"
    desk.client.srem(f"{prefix}#active", lease.id)
    desk.client.sadd(f"{prefix[:-1]}b#active", lease.id)
    desk.client.sadd(f"{prefix}#active", "m#2", "gone#1", "n#0~")
    desk.client.sadd(f"{prefix}#turn", "#gone")
    desk.client.zrem(f"{prefix}#waiting", "#m", "#n")
    desk.client.srem(f"{prefix}#turn", "#m", "#n")
    found = faults_of(desk, repair=False)
    keys = ("~limit:tests.count a", "~limit:tests.count b")
    assert found.keys() == {lease.id, "m#2", "~lane:#m", "~lane:#n", *keys}
    assert faults_of(desk).keys() <= found.keys()
    assert faults_of(desk) == {}
    desk.check()
