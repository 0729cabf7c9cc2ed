"""Chunks are claimed through their task's own lane: limits, fair shares, waking, bounded work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from queueops.model.contracts import Outcome
from tests.kernel.desk import POOL
from tests.mapreduce.bench import ChunkDesk, numbers_of

MOST_COMMANDS = 500

LATER = 10**7


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_no_more_chunks_of_a_task_run_than_may(desk: ChunkDesk, limit: int) -> None:
    desk.push_mapped(chunks=12, max_parallel=limit)
    seen: list[int] = []
    while leases := [lease for lease in desk.claim(10) if lease.kind == "chunk"]:
        assert len(leases) <= limit
        assert desk.claim(10, "w2") == []
        seen += numbers_of(leases)
        desk.end_all(leases)
    assert seen == list(range(12))


def test_a_slot_that_an_errored_chunk_left_is_free(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=3, max_parallel=1)
    desk.fail(desk.lease(), delay_ms=LATER)
    assert numbers_of(desk.claim(5)) == [1]


def test_a_worker_has_no_more_chunks_of_a_task_than_it_may_and_others_get_theirs(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=5, per_worker=2)
    first = desk.claim(10, "w1")
    assert len(first) == 2
    assert desk.claim(10, "w1") == []
    assert len(desk.claim(10, "w2")) == 2
    desk.end_all(first[:1])
    assert len(desk.claim(10, "w1")) == 1
    assert desk.counts() == (0, 4, 0, 1, 0)


def test_what_a_worker_may_not_have_does_not_keep_it_from_the_rest(desk: ChunkDesk) -> None:
    desk.push_several("m", "n", chunks=5, per_worker=1)
    desk.push("plain")
    found = desk.exchange("w1", want=10, idle=True)
    assert sorted(lease.id for lease in found.leases) == ["m#0", "n#0", "plain"]
    assert not found.ready
    again = desk.exchange("w1", want=10, idle=True)
    assert (again.leases, again.ready) == ([], False)
    assert desk.client.zscore(desk.keys.idle, "w1")


def test_chunks_that_one_worker_may_not_have_wake_another(desk: ChunkDesk) -> None:
    desk.push_mapreduce(per_worker=1)
    mapping = desk.lease("w1")
    desk.write(mapping, 3)
    desk.exchange("w2", want=4, idle=True)
    desk.settle(mapping, value=b"3")
    assert desk.client.lrange(desk.keys.wake("w2"), 0, -1) == [b"work"]
    desk.client.delete(desk.keys.wake("w2"))
    one = desk.lease("w1")
    desk.exchange("w2", want=0, idle=True)
    desk.fail(one, delay_ms=LATER)
    desk.exchange("w2", want=1)
    desk.exchange("w3", want=4)
    desk.exchange("w4", want=1, idle=True)
    desk.make_due("m#0")
    desk.exchange("w2", want=1, idle=True)
    assert desk.client.lrange(desk.keys.wake("w4"), 0, -1) == [b"work"]


def test_a_plain_task_starts_within_its_share_beside_very_many_chunks(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=5000)
    for _ in range(3):
        desk.end_all(desk.claim(64))
    desk.push("plain")
    assert "plain" in [lease.id for lease in desk.claim(64)]


def test_many_plain_tasks_and_many_chunks_share_alike(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=400)
    desk.push(*[f"p{number}" for number in range(400)])
    kinds = Counter(lease.kind for _ in range(20) for lease in desk.claim(10))
    assert kinds == {"chunk": 100, "task": 100}


def test_tasks_side_by_side_advance_alike(desk: ChunkDesk) -> None:
    desk.push_several(*[f"m{number}" for number in range(7)], chunks=300)
    claimed = Counter(lease.parent_id for _ in range(50) for lease in desk.claim(14))
    assert max(claimed.values()) - min(claimed.values()) <= 2


def test_a_task_from_the_trash_knows_how_many_chunks_each_worker_has(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=5, per_worker=1)
    runs, ends = (desk.claim(1, worker)[0] for worker in ("w1", "w2"))
    desk.control("cancel", "m", value="enough")
    desk.control("delete", "m")
    desk.settle(ends, Outcome.SUCCESS, b"1", "w2")
    desk.control("restore", "m")
    desk.control("retry", "m")
    desk.check()
    assert (desk.claim(5, "w1"), len(desk.claim(5, "w2"))) == ([], 1)
    desk.settle(runs, Outcome.SUCCESS, b"1", "w1")
    desk.check()
    assert len(desk.claim(5, "w1")) == 1


def test_the_chunks_of_a_task_in_a_paused_lane_wait_with_it(desk: ChunkDesk) -> None:
    desk.push_mapped(lane="one")
    desk.broker.lane(POOL, "one", paused=1)
    found = desk.exchange(want=5, idle=True)
    assert (found.leases, found.ready) == ([], False)
    desk.broker.lane(POOL, "one", paused=None)
    assert len(desk.claim(5)) == 3


def test_chunks_hold_no_slots_of_their_tasks_lane(desk: ChunkDesk) -> None:
    desk.push_mapped(lane="one", chunks=4)
    assert len(desk.claim(4)) == 4
    desk.broker.lane(POOL, "one", limit=1)
    desk.push("plain", lane="one")
    assert [lease.id for lease in desk.claim(4)] == ["plain"]


def test_the_chunks_of_two_tasks_do_not_touch(desk: ChunkDesk) -> None:
    desk.push_several("a", "a:1", chunks=2)
    desk.end_all(desk.claim(4))
    assert desk.counts("a") == desk.counts("a:1") == (0, 0, 0, 2, 0)


def test_a_chunk_costs_the_store_little(desk: ChunkDesk) -> None:
    desk.push_mapreduce("m" * 26)
    lease = desk.lease()
    before = desk.client.info("memory")["used_memory"]
    desk.write(lease, [b"123456789"] * 10_000)
    assert (desk.client.info("memory")["used_memory"] - before) / 10_000 < 420
    desk.settle(lease, value=b"10000")
    desk.told("cancel", "m" * 26)


def test_no_call_does_more_however_many_chunks_there_are(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=20_000)
    costs = []

    def cost(act: Callable[..., object], *arguments: object) -> None:
        before = commands_of(desk)
        act(*arguments)
        costs.append(commands_of(desk) - before)

    for lease in desk.claim(64):
        cost(desk.fail, lease)
    cost(desk.told, "cancel", "m")
    cost(desk.restart, "process")
    cost(desk.told, "cancel", "m")
    cost(desk.told, "delete", "m")
    desk.make_due("~trash:m")
    for _ in range(60):
        cost(desk.tick)
    assert desk.chunk_keys() == 0
    assert max(costs) < MOST_COMMANDS, costs


def commands_of(desk: ChunkDesk) -> int:
    """How many commands the server has run, those within scripts too."""
    return sum(row["calls"] for row in desk.client.info("commandstats").values())
