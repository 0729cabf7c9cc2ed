"""The consistency check finds chunks that are not where their records say, and puts them there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from queueops.kinds.mapreduce.store.chunk_keys import chunk_set
from tests.kernel.desk import POOL
from tests.kernel.test_fsck import checked
from tests.mapreduce.bench import ChunkDesk
from tests.mapreduce.test_restart import STAGES, brought_to

Damage = Callable[[ChunkDesk], object]
LATER = 10**7


@pytest.fixture
def full(desk: ChunkDesk) -> ChunkDesk:
    """Of m's chunks 0 has failed, 1 was let go, 2 is done, 3 backs off, 4 and 5 run, 5 twice, the others wait."""
    desk.push_mapped("n", chunks=2, lane="side")
    desk.broker.lane(POOL, "side", paused=1)
    desk.push_mapped(chunks=9, drop="1", max_parallel=3)
    done = desk.claim(3)
    desk.fail(done[0])
    desk.fail(done[1], delay_ms=LATER)
    desk.mend("drop", 1)
    desk.end_all(done[2:])
    desk.fail(desk.lease(), delay_ms=LATER)
    desk.claim(2)
    desk.mend("speculate", 5)
    return desk


def chunks(desk: ChunkDesk, state: str) -> str:
    return chunk_set(desk.keys, "m", state)


DAMAGES: dict[str, tuple[Damage, set[str]]] = {
    "waiting in no set": (
        lambda desk: desk.client.zrem(chunks(desk, "pending"), "7"),
        {"m#7: it is pending, and not among those chunks", "m: 8 of its 9 chunks are in their places"},
    ),
    "done in no set": (
        lambda desk: desk.client.zrem(chunks(desk, "done"), "2"),
        {"m#2: it is done, and not among those chunks", "m: 8 of its 9 chunks are in their places"},
    ),
    "let go in no set": (
        lambda desk: desk.client.zrem(chunks(desk, "failed"), "1"),
        {"m#1: it is failed, and not among those chunks", "m: 8 of its 9 chunks are in their places"},
    ),
    "in two sets": (
        lambda desk: desk.client.zadd(chunks(desk, "done"), {"8": 5}),
        {"m#8: it is pending, and among the chunks that are done", "m: 10 of its 9 chunks are in their places"},
    ),
    "in another set": (
        lambda desk: [
            desk.client.zrem(chunks(desk, "errored"), "3"),
            desk.client.zadd(chunks(desk, "failed"), {"3": 5}),
        ],
        {"m#3: it is errored, and not among those chunks", "m#3: it is errored, and among the chunks that are failed"},
    ),
    "a back-off without an end": (
        lambda desk: desk.client.zrem(desk.keys.agenda, "m#3"),
        {"m#3: it is errored, and not on the agenda"},
    ),
    "a lease without an end": (
        lambda desk: desk.client.zrem(desk.keys.agenda, "m#4"),
        {"m#4: it is active, and not on the agenda"},
    ),
    "on the agenda for nothing": (
        lambda desk: desk.client.zadd(desk.keys.agenda, {"m#2": desk.now() + LATER}),
        {"m#2: it is done, and on the agenda"},
    ),
    "not known to run": (
        lambda desk: desk.client.zrem(desk.keys.state("active"), "m#5"),
        {"m#5: it is active, and not among those that run"},
    ),
    "said to run": (
        lambda desk: desk.client.zadd(desk.keys.state("active"), {"m#6": 5}),
        {"m#6: it is pending, and among those that run"},
    ),
    "a ghost on the agenda": (
        lambda desk: desk.client.zadd(desk.keys.agenda, {"m#99": desk.now() + LATER}),
        {"m#99: an index names it, and there is no such chunk"},
    ),
    "a ghost of no task": (
        lambda desk: desk.client.zadd(desk.keys.state("active"), {"ghost#0": 5}),
        {"ghost#0: an index names it, and there is no such chunk"},
    ),
    "a lane that nobody claims from": (
        lambda desk: desk.client.zrem(desk.keys.lanes_ready, "#n"),
        {"~lane:#n: tasks wait in it, and no worker claims from it"},
    ),
}


def test_chunks_that_are_well_have_no_faults(full: ChunkDesk) -> None:
    before = full.everything()
    assert checked(full) == checked(full, repair=True) == set()
    assert full.everything() == before


@pytest.mark.parametrize("stage", STAGES)
def test_a_task_is_well_at_each_of_its_stages(desk: ChunkDesk, stage: str) -> None:
    brought_to(desk, stage)
    before = desk.everything()
    assert checked(desk, repair=True) == set()
    assert desk.everything() == before
    desk.told("cancel", "m")
    desk.told("delete", "m")
    assert checked(desk, repair=True) == set()


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_found_and_put_right_and_nothing_else(full: ChunkDesk, damage: str) -> None:
    spoil, expected = DAMAGES[damage]
    spoil(full)
    before = full.everything()
    assert checked(full) == expected
    assert full.everything() == before
    checked(full, repair=True)
    assert checked(full) == set()
    full.check()
    assert full.counts() == (3, 2, 1, 1, 2)


def test_a_task_whose_last_chunk_ended_unseen_goes_on(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=2)
    desk.end_all(desk.claim(1))
    (last,) = desk.claim(1)
    for state, change in (("active", "zrem"), ("done", "zadd")):
        getattr(desk.client, change)(chunk_set(desk.keys, "m", state), {"1": 5} if change == "zadd" else "1")
    desk.client.hset(desk.keys.task("m#1"), "s", "done")
    desk.client.zrem(desk.keys.agenda, last.id)
    desk.client.zrem(desk.keys.state("active"), last.id)
    assert checked(desk) == {"m: none of its chunks is open, and it does not go on"}
    checked(desk, repair=True)
    assert (checked(desk), desk.field("ph")) == (set(), "reduce")


def test_a_chunk_whose_record_is_lost_counts_as_failed(full: ChunkDesk) -> None:
    full.client.delete(full.keys.task("m#4"), full.keys.task("m#3"))
    full.lost |= {"m#3", "m#4"}
    assert checked(full) == {"m#3: its record is missing", "m#4: its record is missing"}
    checked(full, repair=True)
    assert (full.state("m"), full.counts()[-1]) == ("failed", 4)
    assert checked(full) == set()
    full.check()


def test_chunks_of_a_task_that_is_gone_are_deleted(full: ChunkDesk) -> None:
    keys = [full.keys.task("n"), chunk_set(full.keys, "n", "pending"), full.keys.task("n#0")]
    full.client.delete(*keys)
    for state in ("aggregating", "pending"):
        full.client.zrem(full.keys.state(state), "n")
    assert "n#1: its task is gone" in checked(full)
    checked(full, repair=True)
    full.make_due("~chunks:n")
    full.tick()
    assert list(full.client.scan_iter(f"{full.keys.task('n')}#[0-9c]*")) == []
    full.client.flushall()
