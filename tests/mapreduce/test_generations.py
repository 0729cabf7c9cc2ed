"""The chunks of an id belong to one run of its task: they go with it, a part at a time, and never another's."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from queueops.model.contracts import Conflict, Outcome
from tests.mapreduce.bench import ChunkDesk
from tests.mapreduce.conftest import MakeDesk

LATER = 10**7


def finished(desk: ChunkDesk, chunks: int = 3) -> None:
    """A task that has succeeded."""
    desk.push_mapped(chunks=chunks)
    desk.process()
    desk.reduce()


def ticks(desk: ChunkDesk, times: int = 20) -> None:
    for _ in range(times):
        desk.tick()


def test_chunks_expire_with_their_task_a_part_at_a_time(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=1200)
    desk.told("cancel", "m")
    desk.make_due("m")
    assert desk.tick() == {"purged": 1}
    assert desk.counts() == (700, 0, 0, 0, 0)
    ticks(desk, 3)
    assert (desk.state("m"), desk.chunk_keys()) == ("", 0)


def test_many_tasks_that_expire_at_once_are_deleted_in_bounded_parts(desk: ChunkDesk) -> None:
    names = [f"m{number}" for number in range(6)]
    for name in names:
        desk.push_mapped(name, chunks=300)
        desk.told("cancel", name)
    desk.make_due(*names)
    desk.tick()
    assert sum(sum(desk.counts(name)) for name in names) >= 1300
    ticks(desk)
    assert desk.states(*names) == [""] * 6


def test_what_is_over_its_cap_goes_with_its_chunks(make_desk: MakeDesk) -> None:
    desk = make_desk(retention_cap=1)
    for name in ("m1", "m2"):
        desk.push_mapped(name, chunks=600)
        desk.told("cancel", name)
    ticks(desk, 5)
    assert (desk.state("m1"), desk.chunk_keys("m1"), sum(desk.counts("m2"))) == ("", 0, 600)


DISPLACERS: dict[str, Callable[[ChunkDesk], None]] = {
    "a map-reduce task": lambda desk: desk.push_mapreduce(conflict=Conflict.REPLACE),
    "a plain task": lambda desk: desk.push("m", conflict=Conflict.REPLACE) and None,
    "a postponed task": lambda desk: desk.push("m", conflict=Conflict.REPLACE, delay_ms=LATER) and None,
}


@pytest.mark.parametrize("displacer", DISPLACERS)
def test_another_push_of_the_same_id_leaves_no_chunks_behind(desk: ChunkDesk, displacer: str) -> None:
    desk.push_mapped(chunks=700, xw=700)
    running, errored = desk.claim(2, "w9")
    desk.fail(errored, delay_ms=LATER, worker="w9")
    DISPLACERS[displacer](desk)
    assert desk.client.lrange(desk.keys.wake("w9"), 0, -1) == [b"cancel m#0"]
    found = desk.extend(running, "w9")
    assert found.cancels or found.lost
    assert 0 < sum(desk.counts()) <= 200
    ticks(desk)
    assert desk.chunk_keys() == 0
    assert desk.settle(running, worker="w9") == "GONE"


def test_a_new_run_begins_with_making_room_and_its_chunks_are_left_alone(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=700)
    old = desk.lease("w9")
    desk.push_mapreduce(conflict=Conflict.REPLACE)
    new = desk.lease("w1")
    desk.write(new, 600)
    desk.settle(new, value=b"600")
    ticks(desk)
    assert desk.counts() == (600, 0, 0, 0, 0)
    assert desk.settle(old, worker="w9") == "STALE"
    lease = desk.lease("w2")
    assert lease.id == old.id
    assert desk.settle(old, worker="w9") == "STALE"
    assert desk.extend(old, "w9").lost == ["m#0"]
    assert desk.settle(lease, value=b"new", worker="w2") == "OK"
    assert desk.chunk(0)["re"] == "new"


def test_a_retry_with_other_arguments_maps_anew(desk: ChunkDesk) -> None:
    finished(desk, 5)
    assert desk.told("retry", "m", value=b"[[7],{}]") == "OK"
    desk.map("m", 2)
    assert desk.counts() == (2, 0, 0, 0, 0)


def test_a_deleted_task_comes_back_with_its_chunks(desk: ChunkDesk) -> None:
    finished(desk)
    assert desk.told("delete", "m") == "OK"
    assert desk.told("restore", "m") == "OK"
    assert (desk.counts(), desk.results()) == ((0, 0, 0, 3, 0), [b"0", b"1", b"2"])


def test_a_deleted_task_keeps_what_was_said_of_its_dropped_chunks(desk: ChunkDesk) -> None:
    desk.push_mapped()
    desk.fail(desk.lease())
    assert desk.mend("drop", 0) == 1
    assert desk.told("cancel", "m") == "OK"
    assert desk.told("delete", "m") == "OK"
    desk.check()
    assert desk.told("restore", "m") == "OK"
    assert (desk.field("xd"), desk.counts()) == ("1", (2, 0, 0, 0, 1))


def test_the_trash_is_emptied_with_the_chunks(desk: ChunkDesk) -> None:
    finished(desk, 700)
    desk.told("delete", "m")
    desk.make_due("~trash:m")
    ticks(desk)
    assert desk.chunk_keys() == 0
    assert desk.told("restore", "m") == "GONE"


def test_emptying_the_trash_spares_the_chunks_of_a_new_run(desk: ChunkDesk) -> None:
    finished(desk, 3)
    desk.told("delete", "m")
    desk.push_mapped(chunks=4)
    desk.make_due("~trash:m")
    ticks(desk)
    assert desk.counts() == (4, 0, 0, 0, 0)


def test_a_task_restored_after_its_chunks_went_can_only_be_mapped_again(desk: ChunkDesk) -> None:
    finished(desk, 3)
    desk.told("delete", "m")
    desk.push_mapped(chunks=4)
    desk.told("cancel", "m")
    desk.make_due("m")
    ticks(desk)
    assert desk.told("restore", "m") == "OK"
    assert desk.restart("process") == desk.restart("reduce") == "REFUSED"
    assert desk.restart("map") == "OK"


def test_the_chunks_of_a_deleted_task_that_still_run_end_in_their_place(desk: ChunkDesk) -> None:
    desk.push_mapped(xw=5)
    one, two = desk.claim(2)
    desk.fail(one)
    desk.told("delete", "m")
    assert desk.settle(two) == "OK"
    desk.told("restore", "m")
    assert desk.counts() == (1, 0, 0, 1, 1)


def test_a_discarded_task_leaves_no_chunks(desk: ChunkDesk) -> None:
    desk.push_mapped()
    desk.process()
    desk.settle(desk.lease(), Outcome.QUARANTINE, b"odd")
    assert desk.told("discard", "m") == "OK"
    ticks(desk)
    assert desk.chunk_keys() == 0


def test_the_next_run_that_waited_begins_when_a_chunk_fails_this_one(desk: ChunkDesk) -> None:
    desk.push_mapped(chunks=3)
    desk.push_mapreduce(conflict=Conflict.RUN_AFTER)
    one, other = desk.claim(2)
    desk.fail(one)
    assert (desk.state("m"), desk.field("ph")) == ("pending", "")
    desk.settle(other)
    desk.map("m", 2)
    assert desk.counts() == (2, 0, 0, 0, 0)


def test_a_lost_record_of_a_gathering_task_is_found_out_by_its_chunks(desk: ChunkDesk) -> None:
    desk.push_mapped()
    lease = desk.lease()
    desk.client.delete(desk.keys.task("m"))
    desk.broken.add("m")
    assert desk.settle(lease) == "OK"
    assert desk.client.zscore(desk.keys.state("quarantined"), "m")
    desk.haunted.add("m")
    desk.push_mapped(chunks=2)
    desk.broken.clear()
    ticks(desk)
    assert desk.counts() == (2, 0, 0, 0, 0)
